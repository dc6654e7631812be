//! `loglevel`: how much the injector logs.

use std::process::ExitCode;

use vestibule_command::{CommandError, LogLevelArguments};

use crate::Failure;

pub(crate) fn run(arguments: &LogLevelArguments) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(CommandError::running)?;
    Ok(runtime.block_on(arguments.run(vestibule_injector::NAME))?)
}
