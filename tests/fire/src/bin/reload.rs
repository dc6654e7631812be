//! Changes rules under load on a real kube-apiserver. `cargo xtask reload` builds and runs it.

// The output is for a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::Parser;
use fire::reload;
use fire::rig::beside;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    match run(&reload::Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("reload: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &reload::Options) -> anyhow::Result<bool> {
    let figures = reload::run(options, &beside("vestibule")?, |line| eprintln!("reload: {line}")).await?;
    println!("{figures}");
    Ok(figures.is_good())
}
