//! Changes rules under load on a real kube-apiserver. `cargo xtask reload` builds and runs it.

// The output is for a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use fire::reload;

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
    let program = std::env::current_exe()?.with_file_name("vestibule");
    let known = program.exists().then_some(&program);
    let program = known.context("no program `vestibule` beside this one: cargo build -p vestibule-cli")?;
    let figures = reload::run(options, program, |line| eprintln!("reload: {line}")).await?;
    println!("{figures}");
    Ok(figures.is_good())
}
