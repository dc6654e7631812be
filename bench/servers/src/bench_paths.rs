//! Makes calls in process, for a counter of instructions: `bench-paths NAME CALLS`.

// A program tells its failure on the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use anyhow::Context;
use bench_servers::paths::{ALL, Path};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-paths: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Without arguments it prints the names.
fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        ALL.iter().for_each(|name| println!("{name}"));
        return Ok(());
    };
    let calls: usize = arguments.next().context("NAME CALLS")?.parse()?;
    let path = Path::new(&name)?;
    for _ in 0..calls {
        path.call()?;
    }
    Ok(())
}
