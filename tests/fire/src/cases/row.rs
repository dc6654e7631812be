//! One line of the table.

use std::fmt;
use std::time::Instant;

use super::Lateness;
use crate::rig::Times;

/// What was done, what was seen, and whether that is within the limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The case.
    pub case: &'static str,
    /// What was done.
    pub done: String,
    /// What was seen.
    pub seen: String,
    /// The figure that counts.
    pub figure: String,
    /// Its limit.
    pub limit: String,
    /// Whether it is within.
    pub verdict: Verdict,
    late: Vec<Lateness>,
    wants_processors: Option<(Instant, Instant)>,
}

/// So much of the processors' time, in hundredths within one second, is a twentieth of a second in which nothing here runs, or more.
const DISTURBED: u64 = 5;
/// Processors of which callers and webhook may want all.
const FEW: usize = 2;
/// With less than this part of them to spare, somebody waits for one.
const IDLE: f64 = 0.05;

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is within its limit.
    Held,
    /// It is not.
    Fell,
    /// It was not, and the machine is to blame for this reason: nothing is shown, neither that it holds nor that it does not.
    Inconclusive(String),
}

impl Row {
    /// Of `case`; the rest is filled in by [`Row::seen`] and [`Row::judged`].
    pub(crate) fn of(case: &'static str, done: impl Into<String>) -> Self {
        let nothing = String::new;
        let (seen, figure, limit) = (nothing(), nothing(), nothing());
        let (verdict, late, wants_processors) = (Verdict::Fell, Vec::new(), None);
        Self { case, done: done.into(), seen, figure, limit, verdict, late, wants_processors }
    }

    /// What was seen beside the figure.
    pub(crate) fn seen(mut self, seen: impl fmt::Display) -> Self {
        self.seen = seen.to_string();
        self
    }

    /// The figure, its limit, and whether it holds.
    pub(crate) fn judged(mut self, figure: impl fmt::Display, limit: impl fmt::Display, held: bool) -> Self {
        (self.figure, self.limit) = (figure.to_string(), limit.to_string());
        self.verdict = if held { Verdict::Held } else { Verdict::Fell };
        self
    }

    /// What of it was too late or too slow. `holds_otherwise` says whether everything else holds, which has to be so whatever
    /// the host takes.
    pub(crate) fn late(mut self, holds_otherwise: bool, late: impl IntoIterator<Item = Lateness>) -> Self {
        self.late = if holds_otherwise { late.into_iter().collect() } else { Vec::new() };
        self
    }

    /// It wants more processors than a small machine has: where it fell from `begin` to `end`, and there were two at most with
    /// nothing to spare, nothing is shown.
    pub(crate) fn wants_processors(mut self, holds_otherwise: bool, begin: Instant, end: Instant) -> Self {
        self.wants_processors = holds_otherwise.then_some((begin, end));
        self
    }

    /// The verdict once it is known what became of the processors: a row that fell by nothing but what the host is to blame for
    /// is inconclusive.
    pub(crate) fn weighed(mut self, times: &Times, processors: usize) -> Self {
        let most = times.most_taken();
        if most >= DISTURBED {
            self.seen += &format!("; within one second the host took {most} % of the processors");
        }
        if let Some((begin, end)) = self.wants_processors {
            self.seen += &format!("; the processors had {:.1} % to spare", times.idle(begin, end) * 100.0);
        }
        if self.verdict == Verdict::Fell {
            let why = self.excuse(times).or_else(|| self.starved(times, processors));
            self.verdict = why.map_or(Verdict::Fell, Verdict::Inconclusive);
        }
        self
    }

    fn excuse(&self, times: &Times) -> Option<String> {
        let is_late = self.late.iter().any(Lateness::is_over);
        let is_excused = is_late && self.late.iter().all(|late| late.is_excused(times));
        let taken = || self.late.iter().filter(|late| late.is_over()).map(|late| late.taken(times)).max();
        let taken = is_excused.then(taken).flatten()?;
        Some(format!("the host took {} ms of the processors at the very time", taken.as_millis()))
    }

    fn starved(&self, times: &Times, processors: usize) -> Option<String> {
        let (begin, end) = self.wants_processors?;
        let idle = times.idle(begin, end);
        let is_starved = processors <= FEW && idle < IDLE;
        is_starved.then(|| {
            format!(
                "{processors} processors, which the webhook and its callers share, had {:.1} % to spare",
                idle * 100.0
            )
        })
    }

    /// A case that did not come to an end.
    pub(crate) fn broken(case: &'static str, done: &str, error: &anyhow::Error) -> Self {
        Self::of(case, done)
            .seen(format_args!("{error:#}").to_string().replace('\n', " "))
            .judged("none", "an end", false)
    }

    /// All rows as a table, in Markdown.
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
            Verdict::Fell => ("**NO**", ""),
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

    /// A row with one call of 90 ms, of which 50 are allowed, that was due after so many milliseconds.
    fn late(begin: Instant, due: u64, holds_otherwise: bool) -> Row {
        let late = Lateness::each(millis(50), [(begin + millis(due), millis(90))]);
        Row::of("late", "is late").judged("90 ms", "50 ms", false).late(holds_otherwise, [late])
    }

    #[test]
    fn a_late_call_is_inconclusive_only_where_the_host_took_the_processors_meanwhile() {
        let begin = Instant::now();
        let times = Times::example(begin, &[(1_000, millis(40)), (5_000, millis(30))]);
        let verdict = |row: Row| row.weighed(&times, 2).verdict;
        let excused =
            Verdict::Inconclusive("the host took 40 ms of the processors at the very time".to_owned());
        assert_eq!(verdict(late(begin, 960, true)), excused);
        for (due, why) in
            [(2_000, "nothing was taken"), (500, "before it"), (1_100, "after it"), (4_960, "too little")]
        {
            assert_eq!(verdict(late(begin, due, true)), Verdict::Fell, "{why}");
        }
        assert_eq!(verdict(late(begin, 960, false)), Verdict::Fell, "what is lost is lost");
        assert_eq!(verdict(Row::of("lost", "loses").judged(1, 0, false)), Verdict::Fell);
        let held = late(begin, 960, true).judged("40 ms", "50 ms", true);
        assert_eq!(verdict(held), Verdict::Held, "what holds is not asked");
    }

    #[test]
    fn each_kind_of_lateness_has_to_be_excused() {
        let begin = Instant::now();
        let times = Times::example(begin, &[(1_000, millis(40))]);
        let call = |due: u64| Lateness::each(millis(50), [(begin + millis(due), millis(90))]);
        let in_time = Lateness::each(millis(50), [(begin, millis(10))]);
        let row = |late: Vec<Lateness>| {
            Row::of("late", "is late").judged(0, 0, false).late(true, late).weighed(&times, 2)
        };
        assert!(matches!(row(vec![call(960), in_time.clone()]).verdict, Verdict::Inconclusive(_)));
        assert_eq!(row(vec![call(960), call(3_000)]).verdict, Verdict::Fell);
        assert_eq!(row(vec![in_time]).verdict, Verdict::Fell, "it fell by something else");
    }

    #[test]
    fn what_wants_more_processors_than_there_are_is_inconclusive_on_a_small_machine() {
        let begin = Instant::now();
        let end = begin + millis(9_000);
        let row = || Row::of("all", "wants all").judged(0, 0, false).wants_processors(true, begin, end);
        let idle = Times::example(begin, &[]);
        assert_eq!(row().weighed(&idle, 2).verdict, Verdict::Fell, "there was half to spare");
        let busy = Times::busy(begin);
        let verdict = row().weighed(&busy, 2).verdict;
        let why = "2 processors, which the webhook and its callers share, had 0.0 % to spare".to_owned();
        assert_eq!(verdict, Verdict::Inconclusive(why));
        assert_eq!(row().weighed(&busy, 4).verdict, Verdict::Fell);
        let lost = Row::of("all", "loses").judged(0, 0, false).wants_processors(false, begin, end);
        assert_eq!(lost.weighed(&busy, 2).verdict, Verdict::Fell);
    }

    #[test]
    fn an_inconclusive_row_says_so_in_a_column_of_its_own_and_never_that_it_held() {
        let row = Row { verdict: Verdict::Inconclusive("why".to_owned()), ..Row::of("F00", "done") };
        assert_eq!(row.to_string(), "| F00 | done |  |  |  | – | why |");
        let held = Row::of("F00", "done").judged(1, 2, true).to_string();
        assert_eq!(held, "| F00 | done |  | 1 | 2 | yes |  |");
    }
}
