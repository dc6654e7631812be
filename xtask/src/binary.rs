//! The package of the binary `vestibule`, and its tests.

use std::process::Command;

use crate::cargo;

/// The package of the binary.
pub(crate) const PACKAGE: &str = "vestibule-cli";

/// A command that runs one test of the binary, which calls an API server.
pub(crate) fn test(name: &str) -> Command {
    let mut command = cargo::command(&["test", "--package", PACKAGE, "--test", "it", "--"]);
    command.args(["--exact", "--nocapture", name]).env("VESTIBULE_REQUIRE_APISERVER", "1");
    command
}
