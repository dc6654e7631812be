//! Instructions of a call in process, counted by valgrind's callgrind and compared with the committed figures. Unlike time, they do
//! not depend on what else the machine does.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::json;

use crate::gates::{self, Gates};

/// The program of the calls.
pub(crate) const PROGRAM: &str = "bench-paths";
/// Calls of the two runs whose difference is counted, so that the start does not count.
const CALLS: (u64, u64) = (20, 120);
/// Runs of each; the least count is taken. Seeds of hashes differ between runs, and so did the count for a Pod of 92 KB, by 14 %.
const RUNS: usize = 3;
/// The increase that fails, in percent.
const MOST: f64 = 5.0;

/// Counts every path and compares it; with `write` it becomes the committed figure. Without valgrind nothing is counted, and it says so.
pub(crate) fn run(program: &Path, write: bool) -> anyhow::Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("left out: instructions, because there is no valgrind here");
        return Ok(());
    }
    let mut gates = Gates::read()?;
    let names =
        Command::new(program).output().with_context(|| format!("cannot start {}", program.display()))?;
    let mut more = Vec::new();
    for name in String::from_utf8_lossy(&names.stdout).lines() {
        let count = count(program, name, CALLS.1)?.saturating_sub(count(program, name, CALLS.0)?);
        let count = count / (CALLS.1 - CALLS.0);
        let committed = gates.instructions(name);
        let change = committed.map(|committed| (count as f64 / committed as f64 - 1.0) * 100.0);
        println!(
            "{name}: {count} instructions{}",
            change.map_or_else(String::new, |change| format!(", {change:+.1} %"))
        );
        if write {
            gates.0["instructions"][name] = json!(count);
        } else if change.is_none_or(|change| change > MOST) {
            more.push(format!("{name}: {count} instructions, {committed:?} before"));
        }
    }
    if write {
        gates.write()?;
    }
    if !more.is_empty() {
        bail!(
            "more than {MOST} % above {}:\n  {}\nIf that is wanted: cargo xtask bench --instructions --write",
            gates::file().display(),
            more.join("\n  ")
        );
    }
    Ok(())
}

/// The instructions of a process that makes this many calls.
fn count(program: &Path, name: &str, calls: u64) -> anyhow::Result<u64> {
    let counts: Vec<u64> = (0..RUNS).map(|_| count_once(program, name, calls)).collect::<Result<_, _>>()?;
    counts.into_iter().min().context("no run")
}

fn count_once(program: &Path, name: &str, calls: u64) -> anyhow::Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = command.arg(name).arg(calls.to_string()).output().context("cannot start valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name} under valgrind ended with {}:\n{text}", output.status);
    }
    collected(&text).with_context(|| format!("valgrind counted nothing:\n{text}"))
}

/// The count in a line like `==7== Collected : 123456`.
fn collected(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_count_is_found_among_other_lines() {
        let text = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(super::collected(text), Some(123_456));
        assert_eq!(super::collected("==7== Events : Ir\n"), None);
    }
}
