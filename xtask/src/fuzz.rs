//! Runs libFuzzer on the properties of `tests/hostile`.
//!
//! Counting branches needs an unstable compiler flag: the programs are built with a nightly compiler if there is one, else with
//! this one and `RUSTC_BOOTSTRAP`. cargo-fuzz is not needed, because cargo builds the programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::{cargo, files};

/// Counts branches and comparisons for libFuzzer, and keeps overflow checks and debug assertions. Without the address
/// sanitizer there are twice as many runs, and our code has no `unsafe`.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// Runs each target for `minutes`, one after the other, and reports the findings.
pub(crate) fn run(minutes: u64, only: &[String]) -> anyhow::Result<()> {
    let folder = cargo::workspace().join("fuzz");
    let targets = targets(&folder)?;
    if let Some(unknown) = only.iter().find(|name| !targets.contains(name)) {
        bail!("there is no fuzz target {unknown}; there are {}", targets.join(", "));
    }
    build(&folder)?;
    let chosen = if only.is_empty() { &targets } else { only };
    let mut failed = Vec::new();
    for name in chosen {
        println!("\n{name}: {minutes} min");
        match fuzz(&folder, name, minutes)? {
            None => failed.push(name.as_str()),
            Some(summary) => println!("{name}: {summary}"),
        }
    }
    ensure!(
        failed.is_empty(),
        "a property failed in {}: move the input from fuzz/artifacts/TARGET to fuzz/corpus/TARGET, where \
         `cargo test -p hostile` replays it",
        failed.join(", ")
    );
    Ok(())
}

/// The targets: each has a file.
fn targets(folder: &Path) -> anyhow::Result<Vec<String>> {
    let files = files::list(&folder.join("fuzz_targets"))?;
    Ok(files.iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect())
}

fn build(folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    let has_nightly = Command::new("cargo").args(["+nightly", "--version"]).stderr(Stdio::null()).output();
    if has_nightly.is_ok_and(|output| output.status.success()) {
        command.arg("+nightly").env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
        println!("built with the nightly compiler");
    } else {
        command.env("RUSTC_BOOTSTRAP", "1");
        println!("there is no nightly compiler: built with this one");
    }
    // With `--target` the flags do not apply to build scripts and macros.
    let host = host()?;
    command.args(["build", "--release", "--quiet", "--target", &host]).env("RUSTFLAGS", FLAGS);
    cargo::finish(command.current_dir(folder))
}

/// The triple of this machine.
fn host() -> anyhow::Result<String> {
    let version = cargo::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc prints no host")
}

/// The last line of libFuzzer, or `None` if a property failed. New inputs that reach more code are kept in `fuzz/found`, which
/// is not versioned.
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
    let summary = text.lines().rfind(|line| line.starts_with("Done "));
    let covered = text.lines().filter_map(|line| line.split_once(" cov: ")?.1.split(' ').next()).next_back();
    Ok(Some(format!("{}, {} branches", summary.unwrap_or("done"), covered.unwrap_or("?"))))
}

fn program(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    Ok(folder.join("target").join(host()?).join("release").join(name))
}
