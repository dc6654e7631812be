//! `certs`: certificates for webhooks, and the CA ring of every webhook that keeps one.

use std::process::ExitCode;

use vestibule_command::{CertsArguments, CommandError};

use crate::Failure;

pub(crate) fn run(arguments: &CertsArguments) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(CommandError::running)?;
    Ok(runtime.block_on(arguments.run())?)
}
