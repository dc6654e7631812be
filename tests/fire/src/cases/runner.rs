//! Runs cases one after the other within a common time limit.

use std::fmt;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use super::{Case, Row, Verdict};
use crate::rig::CpuMonitor;

/// The time limit of all cases together: 15 minutes, or four hours with the full counts.
#[must_use]
pub fn time_limit(long: bool) -> Duration {
    Duration::from_secs(60 * if long { 240 } else { 15 })
}

/// Runs `cases` and reports each of them and its rows. A case that does not end before `within` is over has failed; a case
/// that would begin later fails without being run.
pub async fn run(
    cases: &[&Case],
    long: bool,
    within: Duration,
    report: impl Fn(&dyn fmt::Display),
) -> Vec<Row> {
    let end = Instant::now() + within;
    let mut rows = Vec::new();
    for case in cases {
        report(case);
        let monitor = CpuMonitor::start();
        let done = case.run(long, end).await;
        let times = monitor.times();
        for row in done {
            let row = row.with_cpu_times(&times, processors());
            report(&row);
            rows.push(row);
        }
    }
    rows
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The exit code: 0 if all rows held, 1 if a row failed, and 3 if none failed but one is inconclusive. 2 is the code of an
/// invalid command line.
#[must_use]
pub fn exit_code(rows: &[Row]) -> u8 {
    let is_any = |verdict: fn(&Verdict) -> bool| rows.iter().any(|row| verdict(&row.verdict));
    match () {
        () if rows.is_empty() || is_any(|verdict| *verdict == Verdict::Failed) => 1,
        () if is_any(|verdict| matches!(verdict, Verdict::Inconclusive(_))) => 3,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::super::{CASES, case};
    use super::*;

    const AN_HOUR: Duration = Duration::from_secs(3600);
    const QUICK: Case = case("quick", "ends", [1, 1], |_| {
        Box::pin(async { Ok(vec![Row::of("quick", "ends").judged(0, 0, true)]) })
    });
    const ENDLESS: Case = case("endless", "does not end", [60, 60], |_| Box::pin(pending()));

    async fn within(time: Duration, cases: &[&Case]) -> Vec<(&'static str, bool, String)> {
        let rows = run(cases, false, time, |_| {}).await;
        rows.into_iter().map(|row| (row.case, row.verdict == Verdict::Held, row.seen)).collect()
    }

    #[test]
    fn an_inconclusive_row_has_an_exit_code_of_its_own() {
        let row = |verdict| {
            let mut row = Row::of("quick", "ends");
            row.verdict = verdict;
            row
        };
        let inconclusive = || row(Verdict::Inconclusive("why".to_owned()));
        assert_eq!(exit_code(&[row(Verdict::Held)]), 0);
        assert_eq!(exit_code(&[row(Verdict::Held), inconclusive()]), 3);
        assert_eq!(exit_code(&[inconclusive(), row(Verdict::Failed), row(Verdict::Held)]), 1);
        assert_eq!(exit_code(&[]), 1, "nothing was run");
    }

    #[tokio::test]
    async fn a_case_that_would_begin_too_late_fails_without_being_run() {
        let rows = within(Duration::from_secs(1), &[&QUICK, &ENDLESS, &QUICK]).await;
        let [quick, endless, late] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(*quick, ("quick", true, String::new()));
        assert!(!endless.1 && endless.2.starts_with("the time limit of all cases"), "{endless:?}");
        assert!(!late.1 && late.2.starts_with("not run"), "{late:?}");
        assert!(within(AN_HOUR, &[&QUICK, &QUICK]).await.iter().all(|(_, held, _)| *held));
    }

    /// With `--long`, the common limit must not cut a case that keeps its own.
    #[test]
    fn the_limits_of_long_cases_fit_into_the_common_limit() {
        let minutes: u64 = CASES.iter().map(|case| case.minutes[1]).sum();
        assert!(Duration::from_secs(60 * minutes) <= time_limit(true), "{minutes} minutes");
    }
}
