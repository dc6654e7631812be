//! `cargo xtask skew`: another release beside this one, on a real API server.

use std::process::Command;

use anyhow::Context;

use crate::image::export_revision;
use crate::{binary, cargo};

/// The test that runs both.
const TEST: &str = "skew::replicas_of_two_releases_serve_beside_each_other";

/// Builds `vestibule` as of `revision` or of the last release, and runs the test with it.
pub(crate) fn run(revision: Option<&str>) -> anyhow::Result<()> {
    let here = cargo::workspace();
    let Some(revision) = revision.map(str::to_owned).map_or_else(last_release, |given| Ok(Some(given)))?
    else {
        println!("NOT RUN, because no commit before this one has a tag of a release");
        return Ok(());
    };
    println!("the other release: {revision}");
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("source");
    export_revision(&here, &revision, &source)?;
    // Kept for the next run, which builds only what another revision changed.
    let target = here.canonicalize()?.join("target/skew");
    let mut build = cargo::command(&["build", "--package", binary::PACKAGE, "--bin", "vestibule"]);
    cargo::finish(build.current_dir(&source).env("CARGO_TARGET_DIR", &target))?;
    let other = target.join("debug/vestibule");
    cargo::finish(binary::test(TEST).env("VESTIBULE_OTHER_RELEASE", other))
}

/// The newest tag of a release before this commit, which may have a tag itself.
fn last_release() -> anyhow::Result<Option<String>> {
    let mut git = Command::new("git");
    git.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^"])
        .current_dir(cargo::workspace());
    let output = git.output().context("cannot start git")?;
    let tag = String::from_utf8(output.stdout)?.trim().to_owned();
    Ok((output.status.success() && !tag.is_empty()).then_some(tag))
}
