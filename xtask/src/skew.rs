//! `cargo xtask skew`: another release beside this one, on a real API server.

use crate::cargo;
use crate::image::export_revision;

/// The test that runs both.
const TEST: &str = "skew::replicas_of_two_releases_serve_beside_each_other";

/// Builds `vestibule` as of `revision`, and runs the test with it.
pub(crate) fn run(revision: &str) -> anyhow::Result<()> {
    let here = cargo::workspace();
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("source");
    export_revision(&here, revision, &source)?;
    // Kept for the next run, which builds only what another revision changed.
    let target = here.canonicalize()?.join("target/skew");
    let mut build = cargo::command(&["build", "--package", "vestibule-cli", "--bin", "vestibule"]);
    cargo::finish(build.current_dir(&source).env("CARGO_TARGET_DIR", &target))?;
    let binary = target.join("debug/vestibule");

    let arguments =
        ["test", "--package", "vestibule-cli", "--test", "it", "--", "--exact", "--nocapture", TEST];
    let mut test = cargo::command(&arguments);
    cargo::finish(test.env("VESTIBULE_REQUIRE_APISERVER", "1").env("VESTIBULE_OTHER_RELEASE", binary))
}
