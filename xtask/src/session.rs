//! `cargo xtask session`: the recorded terminal session of the README.

use crate::{binary, cargo};

/// The test that runs the commands. Without the variable it compares their output with the picture.
const TEST: &str = "deploy::session::the_recorded_session_is_what_the_commands_print";

/// Runs the commands on a real API server, and writes `docs/session.svg`.
pub(crate) fn run() -> anyhow::Result<()> {
    cargo::finish(binary::test(TEST).env("VESTIBULE_UPDATE_GOLDEN", "1"))?;
    println!("docs/session.svg is written");
    Ok(())
}
