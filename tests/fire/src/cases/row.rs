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
    pub held: bool,
}

impl Row {
    /// Of `case`; the rest is filled in by [`Row::seen`] and [`Row::judged`].
    pub(crate) fn of(case: &'static str, done: impl Into<String>) -> Self {
        let nothing = String::new;
        Self { case, done: done.into(), seen: nothing(), figure: nothing(), limit: nothing(), held: false }
    }

    /// What was seen beside the figure.
    pub(crate) fn seen(mut self, seen: impl fmt::Display) -> Self {
        self.seen = seen.to_string();
        self
    }

    /// The figure, its limit, and whether it holds.
    pub(crate) fn judged(mut self, figure: impl fmt::Display, limit: impl fmt::Display, held: bool) -> Self {
        (self.figure, self.limit, self.held) = (figure.to_string(), limit.to_string(), held);
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
        let Self { case, done, seen, figure, limit, held } = self;
        let held = if *held { "yes" } else { "**NO**" };
        write!(f, "| {case} | {done} | {seen} | {figure} | {limit} | {held} |")
    }
}
