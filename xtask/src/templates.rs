//! `cargo xtask templates`: a crate of each kind that `vestibule new` writes, built and tested alone.
//!
//! The test suite has the same sources with the features that the whole workspace asks for. Here each crate has only its own
//! dependencies, as at an author's. It uses the crates of this checkout and the versions of this `Cargo.lock`, without the network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use clap::Args;

use crate::binary_build::{self, Build};
use crate::cargo;
use crate::metadata::Metadata;

/// The name of the crates.
const NAME: &str = "shop-hooks";
/// The kinds of webhooks, by the flags of `vestibule new`.
const KINDS: [&str; 4] = ["mutating", "validating", "conversion", "operator"];
/// The commands that run in each crate. The tests on an API server have to run too.
const COMMANDS: [&[&str]; 3] = [
    &["fmt", "--check"],
    &["test", "--offline"],
    &["run", "--offline", "--quiet", "--", "manifests", "--namespace", NAME, "--image", "IMAGE"],
];

/// The crates to try.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Only these kinds
    #[arg(value_parser = KINDS, default_values = KINDS, hide_default_value = true, value_name = "KIND")]
    kinds: Vec<String>,
    /// A finished binary of `vestibule` instead of a build
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Writes, builds and tests the crates.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let binary = binary_build::find(arguments.binary.as_deref(), Build::Debug)?;
    // Kept for the next run. The crates share their dependencies.
    let target = Metadata::of_workspace()?.target_directory.join("templates");
    // Outside the checkout: Cargo would take the crates for parts of its workspace.
    let folder = tempfile::tempdir()?;
    for name in &arguments.kinds {
        println!("\n== {name}");
        let parent = folder.path().join(name);
        write(&binary, name, &parent)?;
        let package = parent.join(NAME);
        for command in COMMANDS {
            let mut command = cargo::command(command);
            command.current_dir(&package).env("CARGO_TARGET_DIR", &target);
            cargo::without_settings(&mut command);
            cargo::finish(command.env("VESTIBULE_REQUIRE_APISERVER", "1"))
                .with_context(|| format!("the crate of `vestibule new --{name}`"))?;
        }
    }
    println!("\n{} crates: formatted, tested on a real API server, manifests printed", arguments.kinds.len());
    Ok(())
}

/// `vestibule new`, with the versions that this checkout has locked.
fn write(binary: &Path, kind: &str, parent: &Path) -> anyhow::Result<()> {
    let checkout = cargo::workspace().canonicalize()?;
    let mut command = Command::new(binary);
    command.args(["new", NAME, &format!("--{kind}"), "--dir"]).arg(parent).arg("--checkout").arg(&checkout);
    cargo::finish(&mut command)?;
    fs::copy(checkout.join("Cargo.lock"), parent.join(NAME).join("Cargo.lock"))?;
    Ok(())
}
