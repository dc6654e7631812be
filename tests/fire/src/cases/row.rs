//! One row of the result table.

use std::fmt;
use std::time::Instant;

use super::Lateness;
use crate::rig::CpuTimes;

/// A measurement, and whether it is within its limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The case.
    pub case: &'static str,
    /// The load or fault.
    pub done: String,
    /// Observations beside the figure.
    pub seen: String,
    /// The measured figure.
    pub figure: String,
    /// The limit of the figure.
    pub limit: String,
    /// Whether the figure is within the limit.
    pub verdict: Verdict,
    late: Vec<Lateness>,
    needs_processors: Option<(Instant, Instant)>,
}

/// From this percentage of stolen CPU time within one second, the row mentions it.
const DISTURBED: u64 = 5;
/// Up to this number of processors, callers and webhook may need all of them.
const FEW: usize = 2;
/// With a smaller idle share of CPU time, threads wait for a processor.
const IDLE: f64 = 0.05;

/// The result of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figure is within the limit.
    Held,
    /// The figure exceeds the limit.
    Failed,
    /// The figure exceeds the limit, and the machine explains it, for this reason. The row shows neither that the limit
    /// holds nor that it does not.
    Inconclusive(String),
}

impl Row {
    /// A row of `case`; [`Row::seen`] and [`Row::judged`] fill in the rest.
    pub(crate) fn of(case: &'static str, done: impl Into<String>) -> Self {
        let nothing = String::new;
        let (seen, figure, limit) = (nothing(), nothing(), nothing());
        let (verdict, late, needs_processors) = (Verdict::Failed, Vec::new(), None);
        Self { case, done: done.into(), seen, figure, limit, verdict, late, needs_processors }
    }

    /// Sets the observations.
    pub(crate) fn seen(mut self, seen: impl fmt::Display) -> Self {
        self.seen = seen.to_string();
        self
    }

    /// Sets the figure, its limit and the verdict.
    pub(crate) fn judged(mut self, figure: impl fmt::Display, limit: impl fmt::Display, held: bool) -> Self {
        (self.figure, self.limit) = (figure.to_string(), limit.to_string());
        self.verdict = if held { Verdict::Held } else { Verdict::Failed };
        self
    }

    /// Sets the late observations. They are an excuse only if `holds_otherwise`: stolen CPU time excuses nothing but
    /// lateness.
    pub(crate) fn late(mut self, holds_otherwise: bool, late: impl IntoIterator<Item = Lateness>) -> Self {
        self.late = if holds_otherwise { late.into_iter().collect() } else { Vec::new() };
        self
    }

    /// Marks a row that needs more than two processors. If it fails on a machine with at most two, and they were busy from
    /// `begin` to `end`, it is inconclusive.
    pub(crate) fn needs_processors(mut self, holds_otherwise: bool, begin: Instant, end: Instant) -> Self {
        self.needs_processors = holds_otherwise.then_some((begin, end));
        self
    }

    /// Applies the CPU times of the run: a row that failed only by excused lateness becomes inconclusive.
    pub(crate) fn with_cpu_times(mut self, times: &CpuTimes, processors: usize) -> Self {
        let most = times.most_stolen();
        if most >= DISTURBED {
            self.seen += &format!("; within one second the host stole {most} % of the CPU time");
        }
        if let Some((begin, end)) = self.needs_processors {
            self.seen += &format!("; {:.1} % of the CPU time was idle", times.idle(begin, end) * 100.0);
        }
        if self.verdict == Verdict::Failed {
            let why = self.excuse(times).or_else(|| self.starved(times, processors));
            self.verdict = why.map_or(Verdict::Failed, Verdict::Inconclusive);
        }
        self
    }

    fn excuse(&self, times: &CpuTimes) -> Option<String> {
        let is_late = self.late.iter().any(Lateness::is_over);
        let is_excused = is_late && self.late.iter().all(|late| late.is_excused(times));
        let taken = || self.late.iter().filter(|late| late.is_over()).map(|late| late.stolen(times)).max();
        let taken = is_excused.then(taken).flatten()?;
        Some(format!("the host stole {} ms of CPU time meanwhile", taken.as_millis()))
    }

    fn starved(&self, times: &CpuTimes, processors: usize) -> Option<String> {
        let (begin, end) = self.needs_processors?;
        let idle = times.idle(begin, end);
        let is_starved = processors <= FEW && idle < IDLE;
        is_starved.then(|| {
            format!(
                "{processors} processors, which the webhook and its callers share, were {:.1} % idle",
                idle * 100.0
            )
        })
    }

    /// The row of a case that ended with an error.
    pub(crate) fn broken(case: &'static str, done: &str, error: &anyhow::Error) -> Self {
        Self::of(case, done)
            .seen(format_args!("{error:#}").to_string().replace('\n', " "))
            .judged("none", "an end", false)
    }

    /// The rows as a Markdown table.
    #[must_use]
    pub fn table(rows: &[Self]) -> String {
        let head = "| case | what was done | what was seen | figure | limit | held | inconclusive |\n|---|---|---|---|---|---|---|\n";
        rows.iter().fold(head.to_owned(), |table, row| table + &row.to_string() + "\n")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, done, seen, figure, limit, verdict, .. } = self;
        let (held, inconclusive) = match verdict {
            Verdict::Held => ("yes", ""),
            Verdict::Failed => ("**NO**", ""),
            Verdict::Inconclusive(why) => ("–", why.as_str()),
        };
        write!(f, "| {case} | {done} | {seen} | {figure} | {limit} | {held} | {inconclusive} |")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// A failed row with one call that was due at `begin + due` and took 90 ms, where 50 ms are allowed.
    fn late(begin: Instant, due: u64, holds_otherwise: bool) -> Row {
        let late = Lateness::each(millis(50), [(begin + millis(due), millis(90))]);
        Row::of("late", "is late").judged("90 ms", "50 ms", false).late(holds_otherwise, [late])
    }

    #[test]
    fn a_late_call_is_inconclusive_only_if_the_host_stole_cpu_time_during_it() {
        let begin = Instant::now();
        let times = CpuTimes::example(begin, &[(1_000, millis(40)), (5_000, millis(30))]);
        let verdict = |row: Row| row.with_cpu_times(&times, 2).verdict;
        let excused = Verdict::Inconclusive("the host stole 40 ms of CPU time meanwhile".to_owned());
        assert_eq!(verdict(late(begin, 960, true)), excused);
        for (due, why) in
            [(2_000, "nothing was taken"), (500, "before it"), (1_100, "after it"), (4_960, "too little")]
        {
            assert_eq!(verdict(late(begin, due, true)), Verdict::Failed, "{why}");
        }
        assert_eq!(verdict(late(begin, 960, false)), Verdict::Failed, "a lost call is not excused");
        assert_eq!(verdict(Row::of("lost", "loses").judged(1, 0, false)), Verdict::Failed);
        let held = late(begin, 960, true).judged("40 ms", "50 ms", true);
        assert_eq!(verdict(held), Verdict::Held, "a row within its limit needs no excuse");
    }

    #[test]
    fn each_kind_of_lateness_has_to_be_excused() {
        let begin = Instant::now();
        let times = CpuTimes::example(begin, &[(1_000, millis(40))]);
        let call = |due: u64| Lateness::each(millis(50), [(begin + millis(due), millis(90))]);
        let in_time = Lateness::each(millis(50), [(begin, millis(10))]);
        let row = |late: Vec<Lateness>| {
            Row::of("late", "is late").judged(0, 0, false).late(true, late).with_cpu_times(&times, 2)
        };
        assert!(matches!(row(vec![call(960), in_time.clone()]).verdict, Verdict::Inconclusive(_)));
        assert_eq!(row(vec![call(960), call(3_000)]).verdict, Verdict::Failed);
        assert_eq!(row(vec![in_time]).verdict, Verdict::Failed, "nothing was late");
    }

    #[test]
    fn a_row_that_needs_more_processors_is_inconclusive_on_a_small_busy_machine() {
        let begin = Instant::now();
        let end = begin + millis(9_000);
        let row = || Row::of("all", "wants all").judged(0, 0, false).needs_processors(true, begin, end);
        let idle = CpuTimes::example(begin, &[]);
        assert_eq!(row().with_cpu_times(&idle, 2).verdict, Verdict::Failed, "there was half to spare");
        let busy = CpuTimes::busy(begin);
        let verdict = row().with_cpu_times(&busy, 2).verdict;
        let why = "2 processors, which the webhook and its callers share, were 0.0 % idle".to_owned();
        assert_eq!(verdict, Verdict::Inconclusive(why));
        assert_eq!(row().with_cpu_times(&busy, 4).verdict, Verdict::Failed);
        let lost = Row::of("all", "loses").judged(0, 0, false).needs_processors(false, begin, end);
        assert_eq!(lost.with_cpu_times(&busy, 2).verdict, Verdict::Failed);
    }

    #[test]
    fn an_inconclusive_row_has_its_reason_in_the_last_column() {
        let row = Row { verdict: Verdict::Inconclusive("why".to_owned()), ..Row::of("F00", "done") };
        assert_eq!(row.to_string(), "| F00 | done |  |  |  | – | why |");
        let held = Row::of("F00", "done").judged(1, 2, true).to_string();
        assert_eq!(held, "| F00 | done |  | 1 | 2 | yes |  |");
    }
}
