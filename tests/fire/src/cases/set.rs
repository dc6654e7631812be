//! Cases one after the other, within a time that they have together.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{Case, Row, Verdict};
use crate::rig::Host;

/// So much of the processors' time, in hundredths within one second, is a twentieth of a second in which nothing here runs, or more.
const DISTURBED: u64 = 5;
/// How often a case that fell is run again where it was disturbed.
const AGAIN: usize = 2;

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
        let once = async || {
            let host = Host::watch();
            (case.run(long, end).await, host.took())
        };
        rows.extend(undisturbed(once, &tell).await);
    }
    rows
}

/// What one run of a case shows, or one after the other: what a machine did too late while it did not run is no fault of
/// what was measured. What is lost is lost, however slow the machine is. Nothing is left out, and the last run counts.
async fn undisturbed(
    mut once: impl AsyncFnMut() -> (Vec<Row>, u64),
    tell: &impl Fn(&dyn fmt::Display),
) -> Vec<Row> {
    let mut all = Vec::new();
    for left in (0..=AGAIN).rev() {
        let (mut rows, took) = once().await;
        let is_disturbed = took >= DISTURBED;
        let fallen = || rows.iter().filter(|row| row.verdict == Verdict::Fell);
        let again = is_disturbed && left > 0 && fallen().next().is_some() && fallen().all(Row::was_late);
        if is_disturbed {
            rows = rows.into_iter().map(|row| row.disturbed(took)).collect();
        }
        for row in rows.iter_mut().filter(|row| again && row.verdict == Verdict::Fell) {
            row.verdict = Verdict::Again;
        }
        rows.iter().for_each(|row| tell(row));
        all.extend(rows);
        if !again {
            break;
        }
    }
    all
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

    /// What comes of runs that fall or hold so often as the host takes so much.
    async fn verdicts(runs: &[(bool, u64)]) -> Vec<Verdict> {
        let mut runs = runs.iter();
        let once = async || {
            let (held, took) = *runs.next().unwrap();
            (vec![Row::of("quick", "ends").judged(0, 0, held).but_for_time(true)], took)
        };
        let rows = undisturbed(once, &|_: &dyn fmt::Display| {}).await;
        assert!(runs.next().is_none(), "{rows:?}");
        rows.into_iter().map(|row| row.verdict).collect()
    }

    #[tokio::test]
    async fn what_fell_while_the_host_took_the_processors_is_run_again_and_told() {
        use Verdict::{Again, Fell, Held};
        assert_eq!(verdicts(&[(true, 90)]).await, [Held]);
        assert_eq!(verdicts(&[(false, DISTURBED - 1)]).await, [Fell]);
        assert_eq!(verdicts(&[(false, DISTURBED), (true, 0)]).await, [Again, Held]);
        assert_eq!(verdicts(&[(false, 9), (false, 0)]).await, [Again, Fell]);
        assert_eq!(verdicts(&[(false, 9), (false, 9), (false, 9)]).await, [Again, Again, Fell]);
    }

    #[tokio::test]
    async fn what_is_lost_is_lost_whatever_the_host_takes() {
        let late = || Row::of("late", "is late").judged(0, 0, false).but_for_time(true);
        let lost = || Row::of("lost", "loses").judged(0, 0, false);
        let once = async || (vec![late(), lost()], 90);
        let rows = undisturbed(once, &|_: &dyn fmt::Display| {}).await;
        assert!(rows.len() == 2 && rows.iter().all(|row| row.verdict == Verdict::Fell), "{rows:?}");
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
