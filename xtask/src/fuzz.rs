//! libFuzzer on the laws of `tests/hostile`.
//!
//! A nightly compiler is taken where there is one, else this one is asked to pass for one: what is needed of it is
//! the counting of branches, which is not stable. cargo-fuzz is not: the programs are built by cargo as they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::cargo;

/// Counting of branches and comparisons, as libFuzzer wants them; checks of arithmetic and of invariants stay on. Without
/// the address sanitizer: our code has no `unsafe`, and runs are twice as many.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// Runs each target for `minutes`, one after the other, and tells what was found.
pub(crate) fn run(minutes: u64, only: &[String]) -> anyhow::Result<()> {
    let folder = cargo::workspace().join("fuzz");
    let targets = targets(&folder)?;
    if let Some(unknown) = only.iter().find(|name| !targets.contains(name)) {
        bail!("there is no fuzz target {unknown}; there are {}", targets.join(", "));
    }
    build(&folder)?;
    let chosen = if only.is_empty() { &targets } else { only };
    let mut broken = Vec::new();
    for name in chosen {
        println!("\n{name}: {minutes} min");
        match fuzz(&folder, name, minutes)? {
            None => broken.push(name.as_str()),
            Some(told) => println!("{name}: {told}"),
        }
    }
    ensure!(
        broken.is_empty(),
        "a law was broken by {}: put the input of fuzz/artifacts/TARGET into fuzz/corpus/TARGET, where \
         `cargo test -p hostile` replays it",
        broken.join(", ")
    );
    Ok(())
}

/// Each has a file.
fn targets(folder: &Path) -> anyhow::Result<Vec<String>> {
    let files = folder.join("fuzz_targets").read_dir().context("fuzz/fuzz_targets cannot be read")?;
    let names = files.filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

fn build(folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    let has_nightly = Command::new("cargo").args(["+nightly", "--version"]).stderr(Stdio::null()).output();
    if has_nightly.is_ok_and(|output| output.status.success()) {
        command.arg("+nightly").env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
        println!("built by the nightly compiler");
    } else {
        command.env("RUSTC_BOOTSTRAP", "1");
        println!("there is no nightly compiler: built by this one");
    }
    // Flags for the target only, so that build scripts and macros are left alone.
    let host = host()?;
    command.args(["build", "--release", "--quiet", "--target", &host]).env("RUSTFLAGS", FLAGS);
    cargo::finish(command.current_dir(folder))
}

/// The triple of this machine.
fn host() -> anyhow::Result<String> {
    let told = Command::new("rustc").arg("-vV").output().context("rustc cannot be asked for its host")?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not tell its host")
}

/// What libFuzzer told at the end; nothing where a law was broken. New inputs that reach something are kept beside the
/// saved ones, in `fuzz/found`, which is not versioned.
fn fuzz(folder: &Path, name: &str, minutes: u64) -> anyhow::Result<Option<String>> {
    let found = folder.join("found").join(name);
    let artifacts = folder.join("artifacts").join(name);
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let saved = folder.join("corpus").join(name);
    let log = folder.join("found").join(format!("{name}.log"));
    let file = std::fs::File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
    let ended = Command::new(program(folder, name)?)
        .arg(format!("-max_total_time={}", minutes * 60))
        .args(["-rss_limit_mb=2048", "-timeout=25", "-max_len=65536", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([found, saved])
        .stdout(Stdio::null())
        .stderr(file)
        .status()
        .with_context(|| format!("the fuzz target {name} cannot be started"))?;
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    if !ended.success() {
        let last: Vec<&str> = text.lines().rev().take(30).collect();
        println!("{}", last.into_iter().rev().collect::<Vec<_>>().join("\n"));
        return Ok(None);
    }
    let told = text.lines().rfind(|line| line.starts_with("Done "));
    let covered = text.lines().filter_map(|line| line.split_once(" cov: ")?.1.split(' ').next()).next_back();
    Ok(Some(format!("{}, {} branches", told.unwrap_or("done"), covered.unwrap_or("?"))))
}

fn program(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    Ok(folder.join("target").join(host()?).join("release").join(name))
}
