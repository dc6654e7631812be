//! Rotates certificates under load on a real kube-apiserver. `cargo xtask soak` builds and runs it.

// The output is for a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::Parser;
use fire::{Options, Report};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse().with_case();
    match run(&options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> anyhow::Result<bool> {
    let program = fire::rig::beside("replica")?;
    let mut reports = Vec::new();
    for options in options.runs() {
        let report = fire::soak(&options, &program, |line| eprintln!("soak: {line}")).await?;
        println!("{report}");
        reports.push(report);
    }
    if reports.len() > 1 {
        println!("{}", Report::table(&reports));
    }
    Ok(reports.iter().all(Report::is_good))
}
