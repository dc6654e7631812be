//! Calls and rates beyond their time limits, and whether stolen CPU time excuses them (ADR 0083).

use std::time::{Duration, Instant};

use webhook_load::Report;

use crate::rig::CpuTimes;

/// The late observations of one kind, each with its time span.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    late: Vec<Late>,
    /// The number of observations that may be late.
    allowed: usize,
}

#[derive(Clone, Debug)]
struct Late {
    begin: Instant,
    end: Instant,
    by: Duration,
}

impl Lateness {
    /// Observations with their begin and duration; none may take longer than `limit`.
    pub(crate) fn each(limit: Duration, took: impl IntoIterator<Item = (Instant, Duration)>) -> Self {
        let over = |(begin, took): (Instant, Duration)| {
            let by = took.checked_sub(limit).filter(|by| !by.is_zero())?;
            Some(Late { begin, end: begin + took, by })
        };
        Self { late: took.into_iter().filter_map(over).collect(), allowed: 0 }
    }

    /// One call in a hundred may take longer than `limit`. The report has to list the slower calls.
    pub(crate) fn p99(limit: Duration, report: &Report) -> Self {
        let allowed = usize::try_from(report.latency.count() / 100).unwrap_or(usize::MAX);
        Self { allowed, ..Self::each(limit, report.slow.iter().copied()) }
    }

    /// A rate over the span from `begin` to `end`. The missing share of `wanted` counts as that share of the span.
    pub(crate) fn rate(begin: Instant, end: Instant, got: f64, wanted: f64) -> Self {
        let missing = (1.0 - got / wanted).clamp(0.0, 1.0);
        let by = end.saturating_duration_since(begin).mul_f64(missing);
        let late = if by.is_zero() { Vec::new() } else { vec![Late { begin, end, by }] };
        Self { late, allowed: 0 }
    }

    /// Whether more observations are late than allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.late.len() > self.allowed
    }

    /// Whether at most the allowed number is late after the excused observations are dropped. An observation is excused if
    /// the host stole at least as much CPU time during it as it was late.
    pub(crate) fn is_excused(&self, times: &CpuTimes) -> bool {
        self.late.iter().filter(|late| times.stolen(late.begin, late.end) < late.by).count() <= self.allowed
    }

    /// The most CPU time that the host stole during one late observation.
    pub(crate) fn stolen(&self, times: &CpuTimes) -> Duration {
        self.late.iter().map(|late| times.stolen(late.begin, late.end)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn one_call_in_a_hundred_may_be_late_and_each_other_late_call_needs_an_excuse() {
        let begin = Instant::now();
        let times = CpuTimes::example(begin, &[(1_000, millis(40))]);
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
    fn a_missing_share_of_a_rate_counts_as_lateness() {
        let begin = Instant::now();
        let times =
            CpuTimes::example(begin, &[(1_000, millis(90)), (2_000, millis(90)), (3_000, millis(90))]);
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
    fn a_duration_equal_to_the_limit_is_not_late() {
        let begin = Instant::now();
        let late = Lateness::each(millis(50), [(begin, millis(50)), (begin, millis(49))]);
        assert!(
            !late.is_over()
                && late.is_excused(&CpuTimes::default())
                && late.stolen(&CpuTimes::default()).is_zero()
        );
    }
}
