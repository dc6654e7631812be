//! Calls and rates over their time limits, and whether the host is to blame for them.

use std::time::{Duration, Instant};

use vestibule_caller::load::Report;

use crate::rig::Times;

/// Things of one kind that took longer than they may, each with the time in which it did.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    late: Vec<Late>,
    /// So many of them may be late.
    allowed: usize,
}

#[derive(Clone, Debug)]
struct Late {
    begin: Instant,
    end: Instant,
    by: Duration,
}

impl Lateness {
    /// Each of these began at that time and took that long; none may take longer than `limit`.
    pub(crate) fn each(limit: Duration, took: impl IntoIterator<Item = (Instant, Duration)>) -> Self {
        let over = |(begin, took): (Instant, Duration)| {
            let by = took.checked_sub(limit).filter(|by| !by.is_zero())?;
            Some(Late { begin, end: begin + took, by })
        };
        Self { late: took.into_iter().filter_map(over).collect(), allowed: 0 }
    }

    /// One in a hundred of the calls may take longer. The report has to note the slower calls.
    pub(crate) fn p99(limit: Duration, report: &Report) -> Self {
        let allowed = usize::try_from(report.latency.count() / 100).unwrap_or(usize::MAX);
        Self { allowed, ..Self::each(limit, report.slow.iter().copied()) }
    }

    /// From `begin` to `end` only `got` was done of what had to be: what is missing is a part of that time.
    pub(crate) fn rate(begin: Instant, end: Instant, got: f64, wanted: f64) -> Self {
        let missing = (1.0 - got / wanted).clamp(0.0, 1.0);
        let by = end.saturating_duration_since(begin).mul_f64(missing);
        let late = if by.is_zero() { Vec::new() } else { vec![Late { begin, end, by }] };
        Self { late, allowed: 0 }
    }

    /// Whether more are late than may be.
    pub(crate) fn is_over(&self) -> bool {
        self.late.len() > self.allowed
    }

    /// Whether no more are late than may be, but for those during which the host took at least as much of the processors' time
    /// as they are late.
    pub(crate) fn is_excused(&self, times: &Times) -> bool {
        self.late.iter().filter(|late| times.taken(late.begin, late.end) < late.by).count() <= self.allowed
    }

    /// The most that the host took during one of them.
    pub(crate) fn taken(&self, times: &Times) -> Duration {
        self.late.iter().map(|late| times.taken(late.begin, late.end)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn one_in_a_hundred_may_be_late_and_others_are_excused_one_by_one() {
        let begin = Instant::now();
        let times = Times::example(begin, &[(1_000, millis(40))]);
        let mut report = Report::default();
        (0..197).for_each(|_| report.latency.record(millis(10)));
        let mut with = |due: u64| {
            report.latency.record(millis(90));
            report.slow.push((begin + millis(due), millis(90)));
            let late = Lateness::p99(millis(50), &report);
            (late.is_over(), late.is_excused(&times))
        };
        assert_eq!(with(2_000), (false, true), "198 calls: one may be late");
        assert_eq!(with(960), (true, true), "199: this one met the host");
        assert_eq!(with(970), (true, true), "200: so did this one");
        assert_eq!(with(3_000), (true, true), "201: two may be late");
        assert_eq!(with(4_000), (true, false), "this one is one too many");
    }

    #[test]
    fn a_rate_lacks_a_part_of_its_time() {
        let begin = Instant::now();
        let times = Times::example(begin, &[(1_000, millis(90)), (2_000, millis(90)), (3_000, millis(90))]);
        let rate = |got: f64, seconds: u64| {
            let late = Lateness::rate(begin, begin + millis(1_000 * seconds), got, 100.0);
            (late.is_over(), late.is_excused(&times))
        };
        assert_eq!(rate(100.0, 5), (false, true));
        assert_eq!(rate(95.0, 5), (true, true), "a quarter of a second, of which the host took more");
        assert_eq!(rate(94.0, 5), (true, false), "three tenths of a second");
        assert_eq!(rate(95.0, 1), (true, false), "in the first second the host took nothing");
        assert_eq!(rate(0.0, 5), (true, false));
    }

    #[test]
    fn what_takes_exactly_as_long_as_it_may_is_not_late() {
        let begin = Instant::now();
        let late = Lateness::each(millis(50), [(begin, millis(50)), (begin, millis(49))]);
        assert!(
            !late.is_over() && late.is_excused(&Times::default()) && late.taken(&Times::default()).is_zero()
        );
    }
}
