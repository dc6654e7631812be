//! All tests, counted; those on a real API server counted twice, because a test that did not run must not look green.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};

use crate::cargo;
use crate::controlplane;
use crate::metadata::Metadata;

/// Where the tests on a real API server write one line each: `ran NAME`, or `skipped NAME REASON`; and any other test that lacks
/// something `left-out NAME REASON`, or `shortened NAME REASON` where a part of it ran.
const REPORT: &str = "VESTIBULE_TEST_REPORT";
/// Set, it turns a skip into a failure.
const REQUIRE: &str = "VESTIBULE_REQUIRE_APISERVER";

/// Finds or builds the control plane, then runs tests and the examples in the documentation.
pub(crate) fn run(require_apiserver: bool) -> anyhow::Result<()> {
    println!("== control plane");
    if let Err(error) = controlplane::find_or_build() {
        if require_apiserver {
            return Err(error.context("no real API server, but --require-apiserver asks for one"));
        }
        println!("no real API server ({error:#}); the tests that need one will be skipped");
    }

    let report = Metadata::of_workspace()?.target_directory.join("apiserver-tests.txt");
    std::fs::write(&report, "").with_context(|| format!("cannot write {}", report.display()))?;
    let mut tally = Tally::default();
    println!("\n== tests");
    let all = ["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"];
    let mut ended_well = tests(&all, &report, require_apiserver, &mut tally)?;
    println!("\n== examples in the documentation");
    ended_well &=
        tests(&["test", "--workspace", "--no-fail-fast", "--doc"], &report, require_apiserver, &mut tally)?;

    let text =
        std::fs::read_to_string(&report).with_context(|| format!("cannot read {}", report.display()))?;
    let server = Server::read(&text);
    println!("\n== summary");
    for (what, by_reason) in [
        ("SKIPPED", &server.skipped),
        ("LEFT OUT", &server.left_out),
        ("LEFT OUT IN PART", &server.shortened),
    ] {
        for (reason, names) in by_reason {
            println!("{what}, because {reason}:");
            names.iter().for_each(|name| println!("  {name}"));
        }
    }
    for name in &tally.failures {
        println!("FAILED {name}");
    }
    let [skipped, left_out, shortened] = [&server.skipped, &server.left_out, &server.shortened].map(count);
    println!("real API server: {} tests ran, {skipped} skipped", server.ran);
    // libtest takes a test that returns early for one that passed.
    let skipped = if require_apiserver { 0 } else { skipped };
    let passed = tally.passed.saturating_sub(skipped + left_out);
    let lacking = format!("{left_out} left out, {shortened} in part");
    println!("{passed} passed, {} failed, {lacking}{}", tally.failed, tally.ignored());

    if require_apiserver && (server.ran == 0 || !server.skipped.is_empty()) {
        bail!("--require-apiserver asks that every test on the real API server runs");
    }
    if !ended_well || tally.failed > 0 {
        bail!("tests failed or did not compile");
    }
    Ok(())
}

/// Runs one `cargo test`, lets its lines through and counts them; false when it did not end well.
fn tests(
    arguments: &[&str],
    report: &Path,
    require_apiserver: bool,
    tally: &mut Tally,
) -> anyhow::Result<bool> {
    let mut command = cargo::command(arguments);
    command.stdout(Stdio::piped()).env(REPORT, report);
    if require_apiserver {
        command.env(REQUIRE, "1");
    }
    let mut child = command.spawn().with_context(|| cargo::starting(&command))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("cannot read what cargo test prints")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            tally.add(&line);
        }
    }
    Ok(child.wait().context("cannot wait for cargo test")?.success())
}

/// Sums over libtest's own summaries.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    ignored: usize,
    /// The names of those that failed.
    failures: Vec<String>,
}

impl Tally {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; ...` or `test NAME ... FAILED`; any other
    /// line adds nothing.
    fn add(&mut self, line: &str) {
        if let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) {
            self.add_counts(counts);
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }

    fn add_counts(&mut self, counts: &str) {
        for count in counts.split("; ") {
            match count.split_once(' ').map(|(number, word)| (number.parse().unwrap_or(0), word)) {
                Some((number, "passed")) => self.passed += number,
                Some((number, "failed")) => self.failed += number,
                Some((number, "ignored")) => self.ignored += number,
                _ => {}
            }
        }
    }

    fn ignored(&self) -> String {
        match self.ignored {
            0 => String::new(),
            ignored => format!(", {ignored} ignored"),
        }
    }
}

/// Names of tests, by reason.
type ByReason<'r> = BTreeMap<&'r str, Vec<&'r str>>;

fn count(by_reason: &ByReason<'_>) -> usize {
    by_reason.values().map(Vec::len).sum()
}

/// Counts of what the tests reported.
struct Server<'r> {
    /// On the real API server.
    ran: usize,
    /// For want of one.
    skipped: ByReason<'r>,
    /// For want of something else.
    left_out: ByReason<'r>,
    /// The same of a part of the test.
    shortened: ByReason<'r>,
}

impl<'r> Server<'r> {
    fn read(report: &'r str) -> Self {
        let ran = report.lines().filter(|line| line.starts_with("ran ")).count();
        let of = |what: &str| {
            let mut by_reason = ByReason::new();
            for line in report.lines().filter_map(|line| line.strip_prefix(what)) {
                let (name, reason) = line.split_once(' ').unwrap_or((line, "no reason was given"));
                by_reason.entry(reason).or_default().push(name);
            }
            by_reason
        };
        Self { ran, skipped: of("skipped "), left_out: of("left-out "), shortened: of("shortened ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_add_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.52s",
        ] {
            tally.add(line);
        }
        assert_eq!((tally.passed, tally.failed, tally.ignored().as_str()), (15, 2, ", 1 ignored"));
        assert_eq!(tally.failures, ["a::c"]);
    }

    #[test]
    fn a_skip_is_told_with_its_reason() {
        let server = Server::read(
            "ran pods::inject\nskipped pods::deny no Go, no assets\nran pods::update\n\
                 left-out watch::seen no curl\nshortened quota::threads one CPU\n",
        );
        assert_eq!(server.ran, 2);
        assert_eq!(server.skipped["no Go, no assets"], ["pods::deny"]);
        assert_eq!(
            (server.left_out["no curl"][0], server.shortened["one CPU"][0]),
            ("watch::seen", "quota::threads")
        );
        assert_eq!([&server.skipped, &server.left_out, &server.shortened].map(count), [1, 1, 1]);
    }
}
