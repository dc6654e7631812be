//! The report of a soak.

use std::fmt;
use std::time::Duration;

use crate::Options;
use crate::counters::Counts;

/// The result of a soak.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The options of the soak.
    pub options: Options,
    /// The final counters.
    pub counts: Counts,
    /// The time from the first call to the last.
    pub took: Duration,
    /// The time from the start of the first replica until all were endpoints of the Service.
    pub first_ready: Duration,
    /// The minimum and maximum memory of each replica in KiB.
    pub resident: Vec<(u64, u64)>,
    /// Additional rows: name and value.
    pub notes: Vec<(String, String)>,
    /// Goals that were not reached and invariants that were violated.
    pub problems: Vec<String>,
}

impl Report {
    pub(crate) fn new(options: Options, counts: Counts) -> Self {
        let (took, first_ready) = (Duration::ZERO, Duration::ZERO);
        Self {
            options,
            counts,
            took,
            first_ready,
            resident: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// A Markdown table with a row per soak.
    #[must_use]
    pub fn table(reports: &[Self]) -> String {
        let mut table =
            "| replicas | CA rotations | leaf renewals | calls | failed calls | alerts | certificates in \
                         bundles | most private keys | verdict |\n|--:|--:|--:|--:|--:|--:|---|--:|---|\n"
                .to_owned();
        for report in reports {
            let Self { options, counts, .. } = report;
            let numbers =
                [counts.rotations, counts.renewals(), counts.calls, counts.failed(), counts.alerts()]
                    .map(|n| n.to_string());
            let (numbers, sizes) = (numbers.join(" | "), list(&counts.bundle_sizes));
            let verdict = report.verdict();
            let row = format!(
                "| {} | {numbers} | {sizes} | {} | {verdict} |\n",
                options.replicas, counts.most_keys
            );
            table.push_str(&row);
        }
        table
    }

    fn verdict(&self) -> &'static str {
        if self.is_good() { "good" } else { "BAD" }
    }

    /// Whether enough calls were made, none failed, no client refused a certificate, and there is no other problem.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let Counts { calls, .. } = self.counts;
        calls >= self.least_calls()
            && self.counts.failed() == 0
            && self.counts.alerts() == 0
            && self.problems.is_empty()
    }

    /// The number of calls below which the soak proves nothing: half of the calls due at the rate, because a busy machine
    /// skips calls.
    #[must_use]
    pub fn least_calls(&self) -> usize {
        (f64::from(self.options.rate) * self.took.as_secs_f64() / 2.0).ceil().max(1.0) as usize
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, counts, .. } = self;
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
        row("leaf renewals", counts.renewals().to_string())?;
        row("leaf changes to another CA", counts.switches().to_string())?;
        row("leaves with a cross", counts.crossed().to_string())?;
        row("CA rotations", counts.rotations.to_string())?;
        row("calls", format!("{}, {} at least", counts.calls, self.least_calls()))?;
        row("failed calls", counts.failed().to_string())?;
        row("worst latency", format!("{} ms", counts.worst.as_millis()))?;
        row("failed handshakes", counts.failed_handshakes().to_string())?;
        row("writes of the Secret", counts.secret_writes.to_string())?;
        row("writes of the configuration", counts.configuration_writes.to_string())?;
        row("certificates in bundles", list(&counts.bundle_sizes))?;
        row("most private keys", counts.most_keys.to_string())?;
        row("changes of the ring", list(&counts.ring_changes))?;
        let resident: Vec<_> =
            self.resident.iter().map(|(least, most)| format!("{least}-{most} KiB")).collect();
        row("memory of replicas", resident.join(", "))?;
        for (name, value) in &self.notes {
            row(name, value.clone())?;
        }
        for (what, count) in &counts.failures {
            row("FAILED", format!("{count} x {what}"))?;
        }
        for (what, count) in &counts.handshakes_failed {
            row("handshake", format!("{count} x {what}"))?;
        }
        for (what, count) in &counts.trouble {
            row("trouble", format!("{count} x {what}"))?;
        }
        for problem in &self.problems {
            row("SHORT", problem.clone())?;
        }
        row("verdict", self.verdict().to_owned())
    }
}

fn list<K: fmt::Display>(counts: &std::collections::BTreeMap<K, usize>) -> String {
    let items = counts.iter().map(|(what, count)| format!("{what}: {count} times"));
    items.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_calls_show_nothing() {
        let with = |calls| {
            let mut report =
                Report::new(Options::of(&["--rate=60"]).unwrap(), Counts { calls, ..Counts::default() });
            report.took = Duration::from_secs(10);
            report.is_good()
        };
        assert_eq!([0, 299, 300].map(with), [false, false, true]);
        let at_once = Report::new(Options::of(&[]).unwrap(), Counts::default());
        assert!(!at_once.is_good(), "no call is no good soak, however short it is");
    }
}
