//! `explain`: what a code means, and why rules did what they did.

mod code;

use std::process::ExitCode;

use clap::Args;

use crate::{Failure, print};

/// Explains a code of a finding, or what rules make of an object and why.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule explain VST0121")]
pub(crate) struct Arguments {
    /// A code, such as VST0121.
    #[arg(value_name = "CODE")]
    subject: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    print(&code::explained(&arguments.subject)?)?;
    Ok(ExitCode::SUCCESS)
}
