//! Reports of tests that ran, were skipped or were left out: on standard error, and to a file for the test runner.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Prints a line on standard error that the test harness does not capture.
pub(crate) fn print_line(line: &str) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(std::io::stderr(), "testenv: {line}");
}

/// Reports that the current test runs against a real API server.
pub(crate) fn ran() {
    let name = test_name();
    if first_time(&name) {
        append(&format!("ran {name}\n"));
    }
}

/// Reports that the current test was skipped.
pub(crate) fn skipped(reason: &str) {
    note("skipped", "skipped", reason);
}

/// Reports that the current test was left out for a reason other than a missing API server; it does not count as passed.
///
/// It is no failure with `VESTIBULE_REQUIRE_APISERVER` either.
pub fn leave_out(reason: &str) {
    note("left-out", "left out", reason);
}

/// Reports that a part of the current test was left out, and the rest of it ran.
pub fn leave_out_part(reason: &str) {
    note("shortened", "left out in part", reason);
}

fn note(what: &str, words: &str, reason: &str) {
    let name = test_name();
    print_line(&format!("{words}: {name}: {reason}"));
    append(&format!("{what} {name} {}\n", reason.replace('\n', " ")));
}

/// Whether this test was not reported before: a test may start several environments. A harness with one
/// thread runs all tests on `main`, where each call counts.
fn first_time(name: &str) -> bool {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    seen.insert(name.to_owned()) || name == MAIN
}

fn test_name() -> String {
    std::thread::current().name().unwrap_or(MAIN).to_owned()
}

const MAIN: &str = "main";

fn append(line: &str) {
    let Some(path) = std::env::var_os("VESTIBULE_TEST_REPORT") else { return };
    // One write of one line: several test processes append to the same file.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        print_line(&format!("cannot write the report {}: {error}", path.display()));
    }
}
