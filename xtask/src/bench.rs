//! Builds the programs of `bench/` and runs the comparison.

mod peers;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::image::{self, Source};
use crate::metadata::Metadata;
use crate::{cargo, files};

/// Builds release programs, the injector with a profile, and the peers if there is Go, and runs the bench with these arguments. With
/// `--bin-dir` only the bench and the floor are built; with `--page` and `--help` nothing is measured.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let target = Metadata::of_workspace()?.target_directory;
    let has = |flag: &str| arguments.iter().any(|argument| argument.starts_with(flag));
    build("bench")?;
    if has("--instructions") {
        build("bench-servers")?;
    } else if !has("--bin-dir") && !has("--help") && !has("--page") {
        build_injector(&target.join("release/bench-injector"), has("--write"))?;
        build("bench-servers")?;
        peers::build(&target.join("release/bench-peers"))?;
    }
    cargo::run_with_all_descriptors(&target.join("release/bench"), arguments)
}

/// Builds the injector as it is shipped, or without a profile where none can be made. Unless `renews`, a profile of an earlier commit is
/// used: to make one takes longer than a quick measurement.
fn build_injector(folder: &Path, renews: bool) -> anyhow::Result<()> {
    let source = Source::here()?;
    let profile = cargo::workspace().join(image::PROFILE);
    fs::create_dir_all(folder)?;
    if (renews || !profile.is_file())
        && let Err(error) = image::profile::make(&source, &profile)
    {
        println!("the injector is built without a profile: {error:#}");
        fs::remove_dir_all(folder)?;
        return build("vestibule-cli");
    }
    let injector = image::release_here(&source, Some(&profile))?;
    fs::copy(&injector, folder.join(files::name(&injector)))?;
    Ok(())
}

fn build(package: &str) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "--release", "--bins", "-p", package])
}
