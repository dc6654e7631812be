//! Compares webhook servers: `cargo xtask bench`.
//!
//! Each server is a process on one processor; this process makes the calls from another. Every server gets the same bytes and has
//! to make the same change. They run in alternating rounds, and each round is compared with the floor of the same round, because
//! other work on the machine changes times by a third, and ratios by much less.
//!
//! Start reading at `measurement.rs`. `servers` says what is measured, `review` makes the bodies, `mutation` checks the answers, `load`
//! makes the calls, `report` prints.

// A command-line tool prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod certificates;
mod connection;
mod figure;
mod gates;
mod goals;
mod instructions;
mod load;
mod measurement;
mod options;
mod process;
mod publish;
mod quota;
mod report;
mod run;
mod scenario;
mod servers;
mod training;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, ValueEnum};

use crate::gates::Gates;
use crate::options::Options;
use crate::process::Processors;
use crate::report::results::{Results, machine};
use crate::run::Bench;
use crate::scenario::{QUICK, Scenario};
use crate::servers::Running;

fn main() -> ExitCode {
    let run = || {
        // The thread of the calls; it also has to be the one whose processor time is read.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(run(Options::parse()))
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nbench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> anyhow::Result<()> {
    if options.page {
        return publish::page(&Results::read(&publish::results())?);
    }
    let mut programs = options.programs.clone();
    let own = std::env::current_exe()?;
    let own = own.parent().context("the folder of this program")?;
    let profiled = own.join("bench-injector");
    programs.extend([profiled.clone(), own.to_owned(), own.join("bench-peers")]);
    if options.instructions {
        let program =
            programs.iter().map(|folder| folder.join(instructions::PROGRAM)).find(|file| file.is_file());
        return instructions::run(&program.context("bench-paths was not built")?, options.write);
    }
    let processors = Processors::choose()?;
    processors.move_to_client()?;
    if !processors.are_apart() {
        println!("one processor: servers and client share it");
    }
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let running = Running::new(folder.path(), processors, programs)?;
    if options.train {
        return training::run(&running).await;
    }
    let injector = running.program(&servers::training().backend);
    let has_profile = injector.is_some_and(|program| program.parent() == Some(&profiled));
    let machine = machine(processors.count, has_profile);
    let (json, write) = (options.json.clone(), options.write);
    let scenarios = match options.scenarios.as_slice() {
        [] if options.quick => QUICK.to_vec(),
        [] => Scenario::value_variants().to_vec(),
        wanted => wanted.to_vec(),
    };
    let mut bench = Bench { options, running, left_out: Vec::new() };
    let mut rows = Vec::new();
    for scenario in scenarios {
        println!("\n== {}: {}", scenario.name(), scenario.title());
        rows.extend(measurement::run(scenario, &mut bench).await?);
    }
    let results =
        Results { machine, left_out: bench.left_out, allocations: Gates::read()?.allocations(), rows };
    println!();
    for goal in goals::of(&results.rows, results.allocations) {
        let parts: Vec<_> = goal.parts.iter().map(ToString::to_string).collect();
        println!("{:<4}{:<16}{}: {}", goal.name, goal.verdict(), goal.text, parts.join("; "));
    }
    if write {
        results.write(&publish::results())?;
        publish::page(&results)?;
    }
    if let Some(json) = json {
        results.write(&json)?;
        println!("\nevery round: {}", json.display());
    }
    Ok(())
}
