//! Runs the fault and abuse cases and prints their table. `cargo xtask fire` builds and runs this program.

// The output is for a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::Parser;
use fire::cases::{self, Row, Verdict};

/// Runs fault and abuse cases against a webhook and prints one table. All cases together take up to 15 minutes, or four hours
/// with --long; a case that does not start in time has failed. A row whose lateness is explained by CPU time that the host
/// stole is inconclusive. Exit code: 0 if all rows held, 1 if a row failed, 3 if none failed but one is inconclusive.
#[derive(Parser)]
#[command(name = "fire")]
struct Arguments {
    /// Cases to run, such as F01; the default set if none is given
    #[arg(value_name = "CASE", value_parser = cases::find)]
    cases: Vec<&'static cases::Case>,
    /// Full counts, and the cases that take many minutes
    #[arg(long)]
    long: bool,
    /// Print the cases and exit
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
            "fire: {names}: inconclusive; on an idle machine with more processors, run: cargo xtask fire {names}"
        );
    }
    ExitCode::from(cases::exit_code(&rows))
}
