//! `cargo xtask session`: the recorded terminal session of the README.

use crate::cargo;

/// The test that runs the commands. Without the variable it compares their output with the picture.
const TEST: &str = "deploy::session::the_recorded_session_is_what_the_commands_print";

/// Runs the commands on a real API server, and writes `docs/session.svg`.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut test =
        cargo::command(&["test", "--package", "vestibule-cli", "--test", "it", "--", "--exact", TEST]);
    cargo::finish(test.env("VESTIBULE_REQUIRE_APISERVER", "1").env("VESTIBULE_UPDATE_GOLDEN", "1"))?;
    println!("docs/session.svg is written");
    Ok(())
}
