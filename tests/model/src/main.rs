//! Prints the page: `cargo run -p model`; `cargo xtask model` passes its options on.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::Duration;

use model::report::Report;
use model::{catalogue, search, walk_for};

/// For each of the larger clusters.
const LIMIT: Duration = Duration::from_secs(7 * 60);

fn main() -> ExitCode {
    let options: Vec<_> = std::env::args().skip(1).collect();
    let has = |option: &str| options.iter().any(|given| given == option);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut report, mut holds) = (Report::default(), true);

    let larger = has("--larger");
    let scenarios = if larger { catalogue::larger() } else { catalogue::scenarios() };
    for (name, scenario) in scenarios {
        let walk = walk_for(if larger { LIMIT } else { Duration::MAX }, scenario.clone(), threads);
        let whole = if walk.is_whole { "" } else { ", and there are more: time is up" };
        eprintln!("{name}: {} states, {:.1} s{whole}", walk.states, walk.took.as_secs_f32());
        for broken in &walk.broken {
            eprintln!("{} DOES NOT HOLD:\n  {}", broken.invariant, broken.steps.join("\n  "));
        }
        holds &= walk.broken.is_empty() && (walk.ends || !walk.is_whole);
        report.walked(name, scenario, walk);
    }
    let mutation_cases = if larger { Vec::new() } else { catalogue::mutation_cases() };
    for case in mutation_cases {
        match search(case.without(), threads) {
            Ok(found) => {
                eprintln!("without {}: {} steps in {}", case.mutation, found.steps.len(), case.name);
                report.found(case, found);
            }
            Err(states) => {
                eprintln!("without {}: {states} states of {} show NO HARM", case.mutation, case.name);
                holds = false;
            }
        }
    }
    let text = match (larger, has("--traces")) {
        (true, _) => report.clusters(),
        (false, true) => report.traces(),
        (false, false) => report.page(),
    };
    print!("{text}");
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
