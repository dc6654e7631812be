//! `cargo check` for other systems and with the oldest compiler. Both take minutes, so that they run only when they are named:
//! `cargo xtask check cross oldest-rust`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::binary::PACKAGE;
use crate::cargo;
use crate::metadata::Metadata;
use crate::outcome::Outcome;

/// The laptops of a release. Windows has two toolchains; the one of GNU shares all code of this repository with the other.
const TARGETS: [&str; 3] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin", "x86_64-apple-darwin"];

/// In place of a C compiler and of `ar`: the files that it is asked for, without contents. `cargo check` links nothing, and no
/// package has the headers of these systems for Linux.
const COMPILER: &str =
    "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && : > \"$2\"; shift; done\nexit 0\n";

/// Checks the binary and this task runner, which the workflow runs there, for every target that is installed.
pub(crate) fn targets() -> anyhow::Result<Outcome> {
    if !cfg!(unix) {
        println!("NOT CHECKED, because the place of a C compiler is taken by a shell script");
        return Ok(Outcome::LeftOut);
    }
    let target_directory = Metadata::of_workspace()?.target_directory.join("cross");
    // A folder that stays: with another path of the compiler, cargo would build its users again.
    let tools = target_directory.join("tools");
    let compiler = compiler(&tools)?;
    let jemalloc = tools.join("libjemalloc.a");
    fs::write(&jemalloc, "")?;
    let mut outcome = Outcome::Passed;
    for target in TARGETS {
        if !is_installed(target)? {
            println!("NOT CHECKED for {target}, because it is not installed: `rustup target add {target}`");
            outcome = Outcome::LeftOut;
            continue;
        }
        let mut command = cargo::command(&["check", "--quiet", "--locked", "-p", PACKAGE, "-p", "xtask"]);
        command.args(["--target", target]).env("CARGO_TARGET_DIR", &target_directory);
        let variable = target.replace('-', "_");
        command.envs(["CC", "CXX", "AR", "RANLIB"].map(|tool| (format!("{tool}_{variable}"), &compiler)));
        // The first would be asked of Xcode, the second built by a shell script.
        command.env("SDKROOT", &tools).env("JEMALLOC_OVERRIDE", &jemalloc);
        cargo::finish(&mut command)?;
        println!("{target}: {PACKAGE} and xtask compile");
    }
    Ok(outcome)
}

/// Checks everything with the compiler of `rust-version`, if rustup has it.
pub(crate) fn oldest_rust() -> anyhow::Result<Outcome> {
    let metadata = Metadata::of_workspace()?;
    let version = metadata.package(PACKAGE)?.rust_version.as_deref().context("there is no rust-version")?;
    let mut probe = Command::new("rustup");
    let probe = probe.args(["run", version, "rustc", "--version"]).env("RUSTUP_AUTO_INSTALL", "0").output();
    match probe {
        Ok(output) if output.status.success() => print!("{}", String::from_utf8_lossy(&output.stdout)),
        _ => {
            println!(
                "NOT CHECKED, because Rust {version} is missing: `rustup toolchain install {version} --profile minimal`"
            );
            return Ok(Outcome::LeftOut);
        }
    }
    let mut command = Command::new("rustup");
    command.args(["run", version, "cargo", "check", "--quiet", "--workspace", "--all-targets", "--locked"]);
    // A target folder of its own: in a shared one, the builds of the two compilers would replace each other's output.
    cargo::finish(command.env("CARGO_TARGET_DIR", metadata.target_directory.join("oldest-rust")))?;
    println!("every crate, test and example compiles with Rust {version}");
    Ok(Outcome::Passed)
}

fn compiler(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("compiler");
    fs::write(&path, COMPILER)?;
    if !Command::new("chmod").arg("+x").arg(&path).status().context("cannot start chmod")?.success() {
        bail!("cannot make {} executable", path.display());
    }
    Ok(path)
}

/// Whether the standard library of `target` is there.
pub(crate) fn is_installed(target: &str) -> anyhow::Result<bool> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    let output = output.context("cannot start rustc")?;
    Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_installed_or_not() {
        let output = Command::new("rustc").arg("-vV").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let host = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        assert!(is_installed(host).unwrap());
        assert!(!is_installed("vax-dec-vms").unwrap());
    }
}
