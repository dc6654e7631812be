//! What the tests tell the person and the runner.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// A line on standard error that the test harness does not hold back.
pub(crate) fn say(line: &str) {
    // Nothing is lost with a closed standard error.
    let _ = writeln!(std::io::stderr(), "testenv: {line}");
}

/// Notes that the present test meets a real API server.
pub(crate) fn ran() {
    let name = test_name();
    if first_time(&name) {
        append(&format!("ran {name}\n"));
    }
}

/// Notes that the present test could not run.
pub(crate) fn skipped(reason: &str) {
    note("skipped", "skipped", reason);
}

/// Notes that the present test was left out, for a reason that is no matter of the API server: it does not count as one that passed.
///
/// `VESTIBULE_REQUIRE_APISERVER` asks for nothing of this kind.
pub fn leave_out(reason: &str) {
    note("left-out", "left out", reason);
}

/// Notes that a part of the present test was left out; the rest of it ran.
pub fn leave_out_part(reason: &str) {
    note("shortened", "left out in part", reason);
}

fn note(what: &str, words: &str, reason: &str) {
    let name = test_name();
    say(&format!("{words}: {name}: {reason}"));
    append(&format!("{what} {name} {}\n", reason.replace('\n', " ")));
}

/// A test that starts several environments is still one test. A harness with one
/// thread runs all of them on `main`, where each call counts.
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
        say(&format!("cannot write the report {}: {error}", path.display()));
    }
}
