//! Runs test programs in two lanes, and several tests of a program at a time, because many tests wait: for certificates, watches and
//! deadlines.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Write;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::plan::Program;
use super::report::Tally;
use crate::cargo;

const LANES: usize = 2;
/// The tests of one program that run at a time, if some of them use an API server: these wait most of the time. On a machine with
/// more processors there is one for each.
const CLUSTER_TESTS: usize = 3;
/// The variable by which the test harness takes the number of tests that run at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// A program that has ended.
struct Ended {
    name: String,
    time: Duration,
    output: std::io::Result<std::process::Output>,
}

/// Runs the programs in this order, prints the output of each when it ends, and returns their times.
///
/// # Errors
/// A program cannot be started.
pub(super) fn run(
    programs: Vec<Program>,
    environment: &[(&str, OsString)],
    tally: &mut Tally,
) -> anyhow::Result<Vec<(String, Duration)>> {
    let queue = Mutex::new(VecDeque::from(programs));
    let (ended, endings) = channel();
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            let (queue, ended) = (&queue, ended.clone());
            scope.spawn(move || lane(queue, environment, &ended));
        }
        drop(ended);
        let mut durations = Vec::new();
        for Ended { name, time, output } in endings {
            let output = output.with_context(|| format!("cannot run the test program `{name}`"))?;
            println!("\n-- {name}, {:.1} s", time.as_secs_f64());
            std::io::stdout().write_all(&output.stdout)?;
            std::io::stderr().write_all(&output.stderr)?;
            String::from_utf8_lossy(&output.stdout).lines().for_each(|line| tally.add(line));
            tally.ended(&name, output.status.success());
            durations.push((name, time));
        }
        Ok(durations)
    })
}

fn lane(queue: &Mutex<VecDeque<Program>>, environment: &[(&str, OsString)], ended: &Sender<Ended>) {
    loop {
        let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
        let Some(Program { name, executable, folder, on_a_cluster, .. }) = next else { return };
        println!("running {name}");
        let begin = Instant::now();
        let mut command = Command::new(executable);
        command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
        if on_a_cluster && std::env::var_os(THREADS).is_none() {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            command.env(THREADS, processors.max(CLUSTER_TESTS).to_string());
        }
        let output = command.envs(environment.iter().map(|(name, value)| (name, value))).output();
        let sent = ended.send(Ended { name, time: begin.elapsed(), output });
        if sent.is_err() {
            return;
        }
    }
}

/// Runs the examples in the documentation of the selected packages.
///
/// # Errors
/// Cargo cannot be started.
pub(super) fn documentation(
    selection: &[String],
    environment: &[(&str, OsString)],
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut command = cargo::command(&["test", "--no-fail-fast", "--doc"]);
    command.args(selection).envs(environment.iter().map(|(name, value)| (name, value)));
    command.stderr(std::process::Stdio::inherit());
    let output = command.output().with_context(|| cargo::starting(&command))?;
    std::io::stdout().write_all(&output.stdout)?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().for_each(|line| tally.add(line));
    tally.ended("documentation", output.status.success());
    Ok(())
}
