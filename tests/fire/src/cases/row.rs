//! One line of the table.

use std::fmt;

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
    /// Whether all but times and rates is within.
    but_for_time: bool,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is within its limit.
    Held,
    /// It is not.
    Fell,
    /// It was not, while the machine beneath had taken the processors away: the case was run again, and that counts.
    Again,
}

impl Row {
    /// Of `case`; the rest is filled in by [`Row::seen`] and [`Row::judged`].
    pub(crate) fn of(case: &'static str, done: impl Into<String>) -> Self {
        let nothing = String::new;
        let (seen, figure, limit) = (nothing(), nothing(), nothing());
        Self { case, done: done.into(), seen, figure, limit, verdict: Verdict::Fell, but_for_time: false }
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

    /// Whether everything holds that is neither a time nor a rate: what has to be so however slow the machine is.
    pub(crate) fn but_for_time(mut self, holds: bool) -> Self {
        self.but_for_time = holds;
        self
    }

    /// Whether it was too late or too slow, and nothing else.
    pub(crate) fn was_late(&self) -> bool {
        self.verdict == Verdict::Fell && self.but_for_time
    }

    /// Says what the machine beneath took meanwhile, in hundredths of the processors' time.
    pub(crate) fn disturbed(mut self, took: u64) -> Self {
        self.seen += &format!("; within one second the host took {took} % of the processors");
        self
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
        let head =
            "| case | what was done | what was seen | figure | limit | held |\n|---|---|---|---|---|---|\n";
        rows.iter().fold(head.to_owned(), |table, row| table + &row.to_string() + "\n")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, done, seen, figure, limit, verdict, .. } = self;
        let held = match verdict {
            Verdict::Held => "yes",
            Verdict::Fell => "**NO**",
            Verdict::Again => "no, run again",
        };
        write!(f, "| {case} | {done} | {seen} | {figure} | {limit} | {held} |")
    }
}
