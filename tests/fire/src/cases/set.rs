//! Cases one after the other, within a time that they have together.

use std::fmt;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use super::{Case, Row, Verdict};
use crate::rig::Host;

/// The time that all cases have together: a quarter of an hour, and with all of their counts four hours.
#[must_use]
pub fn whole(long: bool) -> Duration {
    Duration::from_secs(60 * if long { 240 } else { 15 })
}

/// Runs `cases`, and tells of each before and after. One that would begin when `within` is over has fallen without being
/// run, and so has one that is not at its end by then.
pub async fn run(
    cases: &[&Case],
    long: bool,
    within: Duration,
    tell: impl Fn(&dyn fmt::Display),
) -> Vec<Row> {
    let end = Instant::now() + within;
    let mut rows = Vec::new();
    for case in cases {
        tell(case);
        let host = Host::watch();
        let done = case.run(long, end).await;
        let times = host.times();
        for row in done {
            let row = row.weighed(&times, processors());
            tell(&row);
            rows.push(row);
        }
    }
    rows
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// What the program ends with: 0 where all held, 1 where a row fell, and where none did but some are inconclusive 3, for 2 is
/// what a command line that cannot be read ends with.
#[must_use]
pub fn exit_code(rows: &[Row]) -> u8 {
    let is_any = |verdict: fn(&Verdict) -> bool| rows.iter().any(|row| verdict(&row.verdict));
    match () {
        () if rows.is_empty() || is_any(|verdict| *verdict == Verdict::Fell) => 1,
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
    fn what_is_inconclusive_ends_with_a_code_of_its_own() {
        let row = |verdict| {
            let mut row = Row::of("quick", "ends");
            row.verdict = verdict;
            row
        };
        let inconclusive = || row(Verdict::Inconclusive("why".to_owned()));
        assert_eq!(exit_code(&[row(Verdict::Held)]), 0);
        assert_eq!(exit_code(&[row(Verdict::Held), inconclusive()]), 3);
        assert_eq!(exit_code(&[inconclusive(), row(Verdict::Fell), row(Verdict::Held)]), 1);
        assert_eq!(exit_code(&[]), 1, "nothing was run");
    }

    #[tokio::test]
    async fn what_would_begin_too_late_falls_without_being_run() {
        let rows = within(Duration::from_millis(50), &[&QUICK, &ENDLESS, &QUICK]).await;
        let [quick, endless, late] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(*quick, ("quick", true, String::new()));
        assert!(!endless.1 && endless.2.starts_with("the time that all cases"), "{endless:?}");
        assert!(!late.1 && late.2.starts_with("not run"), "{late:?}");
        assert!(within(AN_HOUR, &[&QUICK, &QUICK]).await.iter().all(|(_, held, _)| *held));
    }

    /// The other bound is a promise about the whole: with all counts, each case may take its own time.
    #[test]
    fn with_all_counts_there_is_time_for_each() {
        let minutes: u64 = CASES.iter().map(|case| case.minutes[1]).sum();
        assert!(Duration::from_secs(60 * minutes) <= whole(true), "{minutes} minutes");
    }
}
