//! What a soak has to say in the end.

use std::fmt;
use std::time::Duration;

use crate::Options;
use crate::ledger::Book;

/// What a soak has to say in the end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// What was asked for.
    pub options: Options,
    /// What happened.
    pub book: Book,
    /// How long it took, from the first call to the last.
    pub took: Duration,
    /// From the start of the first replica until the Service had all of them.
    pub first_ready: Duration,
    /// Memory of each replica in KiB: the least and the most that it was seen with.
    pub resident: Vec<(u64, u64)>,
    /// What more there is to say, a name and a value.
    pub notes: Vec<(String, String)>,
    /// Why it did not reach its ends.
    pub short: Vec<String>,
}

impl Report {
    pub(crate) fn new(options: Options, book: Book) -> Self {
        let (took, first_ready) = (Duration::ZERO, Duration::ZERO);
        Self { options, book, took, first_ready, resident: Vec::new(), notes: Vec::new(), short: Vec::new() }
    }

    /// One row of a table of soaks for each, in Markdown.
    #[must_use]
    pub fn table(reports: &[Self]) -> String {
        let mut table =
            "| replicas | CA rotations | leaf renewals | calls | failed calls | alerts | certificates in \
                         bundles | most private keys | verdict |\n|--:|--:|--:|--:|--:|--:|---|--:|---|\n"
                .to_owned();
        for report in reports {
            let Self { options, book, .. } = report;
            let numbers = [book.rotations, book.renewals(), book.calls, book.failed(), book.alerts()]
                .map(|n| n.to_string());
            let (numbers, sizes) = (numbers.join(" | "), counts(&book.bundle_sizes));
            let verdict = report.verdict();
            let row =
                format!("| {} | {numbers} | {sizes} | {} | {verdict} |\n", options.replicas, book.most_keys);
            table.push_str(&row);
        }
        table
    }

    fn verdict(&self) -> &'static str {
        if self.is_good() { "good" } else { "BAD" }
    }

    /// Whether enough calls were made and none failed, no client refused a certificate, and all ends were reached.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let Book { calls, .. } = self.book;
        calls >= self.least_calls()
            && self.book.failed() == 0
            && self.book.alerts() == 0
            && self.short.is_empty()
    }

    /// With fewer calls it says nothing that none failed: half of what the rate comes to, since what a busy machine could not
    /// send in time is not made up for.
    #[must_use]
    pub fn least_calls(&self) -> usize {
        (f64::from(self.options.rate) * self.took.as_secs_f64() / 2.0).ceil().max(1.0) as usize
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, book, .. } = self;
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let mut row = |name: &str, value: String| writeln!(f, "{name:<28} {value}");
        row("order", options.order.as_str().to_owned())?;
        row("replicas", options.replicas.to_string())?;
        let behind = if options.lag == 0 { String::new() } else { format!(", one {} s behind", options.lag) };
        row("API servers", format!("{}{behind}", options.api_servers))?;
        row("leaf life, hold, period", {
            let period = options.period().as_secs();
            format!("{} s, {} s, {period} s", options.timing.leaf, options.timing.hold)
        })?;
        row("took", seconds(self.took))?;
        row("first Ready after", seconds(self.first_ready))?;
        row("leaf renewals", book.renewals().to_string())?;
        row("leaf changes to another CA", book.switches().to_string())?;
        row("leaves with a cross", book.crossed().to_string())?;
        row("CA rotations", book.rotations.to_string())?;
        row("calls", format!("{}, {} at least", book.calls, self.least_calls()))?;
        row("failed calls", book.failed().to_string())?;
        row("worst latency", format!("{} ms", book.worst.as_millis()))?;
        row("failed handshakes", book.failed_handshakes().to_string())?;
        row("writes of the Secret", book.secret_writes.to_string())?;
        row("writes of the configuration", book.configuration_writes.to_string())?;
        row("certificates in bundles", counts(&book.bundle_sizes))?;
        row("most private keys", book.most_keys.to_string())?;
        row("changes of the ring", counts(&book.ring_changes))?;
        let resident: Vec<_> =
            self.resident.iter().map(|(least, most)| format!("{least}-{most} KiB")).collect();
        row("memory of replicas", resident.join(", "))?;
        for (name, value) in &self.notes {
            row(name, value.clone())?;
        }
        for (what, count) in &book.failures {
            row("FAILED", format!("{count} x {what}"))?;
        }
        for (what, count) in &book.handshakes_failed {
            row("handshake", format!("{count} x {what}"))?;
        }
        for (what, count) in &book.trouble {
            row("trouble", format!("{count} x {what}"))?;
        }
        for short in &self.short {
            row("SHORT", short.clone())?;
        }
        row("verdict", self.verdict().to_owned())
    }
}

fn counts<K: fmt::Display>(counts: &std::collections::BTreeMap<K, usize>) -> String {
    let counts = counts.iter().map(|(what, count)| format!("{what}: {count} times"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_calls_show_nothing() {
        let with = |calls| {
            let mut report =
                Report::new(Options::of(&["--rate=60"]).unwrap(), Book { calls, ..Book::default() });
            report.took = Duration::from_secs(10);
            report.is_good()
        };
        assert_eq!([0, 299, 300].map(with), [false, false, true]);
        let at_once = Report::new(Options::of(&[]).unwrap(), Book::default());
        assert!(!at_once.is_good(), "no call is no good soak, however short it is");
    }
}
