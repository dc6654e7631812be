//! Cases one after the other, within a time that they have together.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{Case, Row};

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
        let seen = case.run(long, end).await;
        seen.iter().for_each(|row| tell(row));
        rows.extend(seen);
    }
    rows
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
        rows.into_iter().map(|row| (row.case, row.held, row.seen)).collect()
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
