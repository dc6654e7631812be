//! Sets a webhook on fire and says what became of it. `cargo xtask fire` builds and runs it.

// It talks to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::Parser;
use fire::cases::{self, Row, Verdict};

/// Each case is bounded in time and count, and all together in time: 15 minutes, with --long four hours. One line of a
/// table says what came of each; what there was no time for fell. What fell while the machine beneath this one took 5 % of
/// the processors or more within a second is run again, twice at most.
#[derive(Parser)]
#[command(name = "fire")]
struct Arguments {
    /// Only these, such as F01; all that are quick enough unless given
    #[arg(value_name = "CASE", value_parser = cases::find)]
    cases: Vec<&'static cases::Case>,
    /// The whole counts, and the cases that take many minutes
    #[arg(long)]
    long: bool,
    /// Only tell which cases there are
    #[arg(long)]
    list: bool,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let Arguments { cases, long, list } = Arguments::parse();
    let chosen: Vec<_> = match cases.is_empty() {
        true => cases::CASES.iter().filter(|case| long || list || !case.long).collect(),
        false => cases,
    };
    if list {
        chosen.iter().for_each(|case| println!("{case}"));
        return ExitCode::SUCCESS;
    }
    let rows = cases::run(&chosen, long, cases::whole(long), |line| eprintln!("fire: {line}")).await;
    println!("{}", Row::table(&rows));
    let fell: Vec<_> = rows.iter().filter(|row| row.verdict == Verdict::Fell).map(|row| row.case).collect();
    if fell.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("fire: {} fell", fell.join(", "));
    ExitCode::FAILURE
}
