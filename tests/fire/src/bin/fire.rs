//! Sets a webhook on fire and says what became of it. `cargo xtask fire` builds and runs it.

// It talks to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::Parser;
use fire::cases::{self, Row, Verdict};

/// Each case is bounded in time and count, and all together in time: 15 minutes, with --long four hours. One line of a
/// table says what came of each; what there was no time for failed. What was too late only while the machine beneath this one took
/// the processors is inconclusive. Ends with 0 where all held, with 1 where something failed, with 3 where nothing failed but
/// something is inconclusive.
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
    let rows = cases::run(&chosen, long, cases::time_limit(long), |line| eprintln!("fire: {line}")).await;
    println!("{}", Row::table(&rows));
    let named = |verdict: fn(&Verdict) -> bool| {
        let mut cases: Vec<_> = rows.iter().filter(|row| verdict(&row.verdict)).map(|row| row.case).collect();
        cases.dedup();
        cases
    };
    let failed = named(|verdict| *verdict == Verdict::Failed);
    if !failed.is_empty() {
        eprintln!("fire: {} failed", failed.join(", "));
    }
    let inconclusive = named(|verdict| matches!(verdict, Verdict::Inconclusive(_)));
    if !inconclusive.is_empty() {
        let names = inconclusive.join(" ");
        eprintln!(
            "fire: {names}: inconclusive; on a machine with processors to spare, run: cargo xtask fire {names}"
        );
    }
    ExitCode::from(cases::exit_code(&rows))
}
