//! Counts: of libtest's own lines, and of the lines that tests on a real API server write.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Sums over libtest's summaries.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    failed: usize,
    ignored: usize,
    /// The names of failed tests.
    pub(super) failures: Vec<String>,
    /// The names of programs that ended with an error.
    pub(super) broken: Vec<String>,
    /// The panic messages of failed tests, without backtraces and logs.
    messages: BTreeMap<String, Vec<String>>,
    /// The test whose panic message the next lines continue.
    panicked: Option<String>,
}

/// The longest panic message that the summary repeats, in lines.
const MESSAGE_LINES: usize = 8;

impl Tally {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; ...` or `test NAME ... FAILED`; any other
    /// line adds nothing.
    pub(super) fn add(&mut self, line: &str) {
        if let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) {
            self.add_counts(counts);
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        } else {
            self.add_message(line);
        }
    }

    /// Keeps the lines of a message from `thread 'NAME' (12) panicked at FILE:` to the backtrace or an empty line.
    fn add_message(&mut self, line: &str) {
        let panicked = line
            .strip_prefix("thread '")
            .filter(|line| line.contains("' ") && line.contains(" panicked at "));
        if let Some((name, _)) = panicked.and_then(|rest| rest.split_once('\'')) {
            self.panicked = Some(name.to_owned());
        } else if line.is_empty() || line == "stack backtrace:" || line.starts_with("note: ") {
            self.panicked = None;
        }
        if let Some(name) = &self.panicked {
            let lines = self.messages.entry(name.clone()).or_default();
            if lines.len() < MESSAGE_LINES {
                lines.push(line.to_owned());
            }
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

    /// A program ended. One that crashed prints no summary, so its exit code counts too.
    pub(super) fn ended(&mut self, program: &str, success: bool) {
        if !success {
            self.broken.push(program.to_owned());
        }
    }

    pub(super) fn is_success(&self) -> bool {
        self.failed == 0 && self.broken.is_empty()
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

/// The lines that tests wrote.
pub(super) struct Report<'r> {
    /// The number of tests that ran on the real API server.
    pub(super) ran: usize,
    /// Tests without a real API server.
    pub(super) skipped: ByReason<'r>,
    /// Tests that lack something else.
    left_out: ByReason<'r>,
    /// Tests of which a part ran.
    shortened: ByReason<'r>,
}

impl<'r> Report<'r> {
    pub(super) fn read(report: &'r str) -> Self {
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

    /// The summary; its last line has the counts.
    pub(super) fn text(&self, tally: &Tally, require_apiserver: bool) -> String {
        let mut text = String::new();
        for (what, by_reason) in
            [("SKIPPED", &self.skipped), ("LEFT OUT", &self.left_out), ("LEFT OUT IN PART", &self.shortened)]
        {
            for (reason, names) in by_reason {
                let _infallible = writeln!(text, "{what}, because {reason}:\n  {}", names.join("\n  "));
            }
        }
        for name in &tally.failures {
            let _infallible = writeln!(text, "FAILED {name}");
            for line in tally.messages.get(name).into_iter().flatten() {
                let _infallible = writeln!(text, "  {line}");
            }
        }
        for name in &tally.broken {
            let _infallible = writeln!(text, "ENDED WITH AN ERROR {name}");
        }
        let [skipped, left_out, shortened] = [&self.skipped, &self.left_out, &self.shortened].map(count);
        let _infallible = writeln!(text, "real API server: {} tests ran, {skipped} skipped", self.ran);
        // libtest counts a test that returns early as passed.
        let skipped = if require_apiserver { 0 } else { skipped };
        let passed = tally.passed.saturating_sub(skipped + left_out);
        let lacking = format!("{left_out} left out, {shortened} in part");
        let _infallible =
            writeln!(text, "{passed} passed, {} failed, {lacking}{}", tally.failed, tally.ignored());
        text
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
        assert!(!tally.is_success());
    }

    #[test]
    fn the_summary_repeats_the_message_of_a_failed_test() {
        let mut tally = Tally::default();
        for line in [
            "test pods::inject ... FAILED",
            "---- pods::inject stdout ----",
            "",
            "thread 'pods::inject' (4711) panicked at tests/it/pods.rs:12:9:",
            "assertion `left == right` failed: two containers",
            "  left: 1",
            "stack backtrace:",
            "   0: __rustc::rust_begin_unwind",
        ] {
            tally.add(line);
        }
        let text = Report::read("").text(&tally, false);
        let message = "FAILED pods::inject\n  thread 'pods::inject' (4711) panicked at tests/it/pods.rs:12:9:\n  \
                       assertion `left == right` failed: two containers\n    left: 1\n";
        assert!(text.starts_with(message), "{text}");
        assert!(!text.contains("rust_begin_unwind"), "{text}");
    }

    #[test]
    fn a_program_that_crashes_is_a_failure() {
        let mut tally = Tally::default();
        tally.ended("patch it", true);
        assert!(tally.is_success());
        tally.ended("rules it", false);
        assert!(!tally.is_success());
        assert!(Report::read("").text(&tally, false).contains("ENDED WITH AN ERROR rules it"));
    }

    #[test]
    fn a_skip_is_reported_with_its_reason() {
        let report = Report::read(
            "ran pods::inject\nskipped pods::deny no Go, no assets\nran pods::update\n\
                 left-out watch::seen no curl\nshortened quota::threads one CPU\n",
        );
        assert_eq!(report.ran, 2);
        assert_eq!(report.skipped["no Go, no assets"], ["pods::deny"]);
        assert_eq!(
            (report.left_out["no curl"][0], report.shortened["one CPU"][0]),
            ("watch::seen", "quota::threads")
        );
        let tally = Tally { passed: 10, ..Tally::default() };
        let text = report.text(&tally, false);
        assert!(text.contains("SKIPPED, because no Go, no assets:\n  pods::deny\n"), "{text}");
        assert!(text.ends_with("8 passed, 0 failed, 1 left out, 1 in part\n"), "{text}");
        assert!(report.text(&tally, true).ends_with("9 passed, 0 failed, 1 left out, 1 in part\n"));
    }
}
