//! Builds the programs of `bench/` and runs the comparison.

mod peers;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::image::{self, Source};
use crate::metadata::Metadata;
use crate::{cargo, files};

/// Builds release programs, and the peers if there is Go, and runs the bench with these arguments. With `--bin-dir` only the bench and
/// the floor are built; with `--page` and `--help` nothing is measured.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let target = Metadata::of_workspace()?.target_directory;
    let has = |flag: &str| arguments.iter().any(|argument| argument.starts_with(flag));
    build("bench")?;
    if has("--instructions") {
        build("bench-servers")?;
    } else if !has("--bin-dir") && !has("--help") && !has("--page") {
        build("bench-servers")?;
        peers::build(&target.join("release/bench-peers"))?;
        build_injector(&target.join("release/bench-injector"))?;
    }
    cargo::run_with_all_descriptors(&target.join("release/bench"), arguments)
}

/// Builds the injector as it is shipped. A profile that is there is used, also one of an earlier commit: it takes longer to make than a
/// quick measurement.
fn build_injector(folder: &Path) -> anyhow::Result<()> {
    let source = Source::here()?;
    let profile = cargo::workspace().join(image::PROFILE);
    if !profile.is_file() {
        image::profile::make(&source, &profile)?;
    }
    let injector = image::release_here(&source, Some(&profile))?;
    fs::create_dir_all(folder)?;
    fs::copy(&injector, folder.join(files::name(&injector)))?;
    Ok(())
}

fn build(package: &str) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "--release", "--bins", "-p", package])
}
