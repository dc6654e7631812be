//! The result of a reload run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::PodChecks;

/// The figures of a reload run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Good versions that came into force.
    pub versions: usize,
    /// Bad versions that were refused.
    pub refused: usize,
    /// Bad versions that were stored.
    pub stored: usize,
    /// The duration of the load.
    pub took: Duration,
    /// Creates that ended, with success or not.
    pub calls: usize,
    /// Failed creates by error message.
    pub failures: BTreeMap<String, usize>,
    /// The longest duration of a create.
    pub worst: Duration,
    /// Creates that are due per second. With fewer than 95 % of them the run proves nothing; 0 requires no rate.
    pub due: u32,
    /// The checks of the pods.
    pub checks: PodChecks,
    reloads: Vec<Duration>,
    notes: Vec<String>,
}

impl Figures {
    /// Whether no create failed, no pod was wrong, and at least 95 % of the creates that were due were made.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let checks = &self.checks;
        self.failures.is_empty() && checks.wrong.is_empty() && checks.certain > 0 && self.kept_up()
    }

    pub(super) fn reload(&mut self, took: Duration) {
        self.reloads.push(took);
    }

    pub(super) fn time(&mut self, what: &str, took: Duration) {
        self.note(format!("{what}: after {:.2} s", took.as_secs_f64()));
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn kept_up(&self) -> bool {
        self.rate() >= 0.95 * f64::from(self.due)
    }

    /// Creates per second.
    fn rate(&self) -> f64 {
        self.calls as f64 / self.took.as_secs_f64().max(0.001)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checks, .. } = self;
        let mut row = |name: &str, value: String| writeln!(f, "{name:<32} {value}");
        row("good versions in force", self.versions.to_string())?;
        row("bad versions refused at apply", self.refused.to_string())?;
        row("bad versions stored", self.stored.to_string())?;
        let mut reloads = self.reloads.clone();
        reloads.sort_unstable();
        let at = |part: usize| reloads.get(reloads.len().saturating_sub(1) * part / 100).copied();
        let milliseconds = |part| at(part).unwrap_or_default().as_millis();
        row(
            "from write to force everywhere",
            format!("median {} ms, at most {} ms", milliseconds(50), milliseconds(100)),
        )?;
        let (seconds, rate) = (self.took.as_secs_f64(), self.rate());
        let few = if self.kept_up() { String::new() } else { format!(": TOO FEW of {}", self.due) };
        row("creates", format!("{} in {seconds:.0} s, {rate:.0} a second{few}", self.calls))?;
        row("failed creates", self.failures.values().sum::<usize>().to_string())?;
        row("slowest create", format!("{} ms", self.worst.as_millis()))?;
        row("pods judged", checks.pods.to_string())?;
        row("  while one outcome was possible", checks.certain.to_string())?;
        row("  with one good version", checks.injected.to_string())?;
        row("  not injected", checks.not_injected.to_string())?;
        row("wrong pods", checks.wrong.values().sum::<usize>().to_string())?;
        for note in &self.notes {
            row("switch", note.clone())?;
        }
        for (what, count) in &self.failures {
            row("FAILED", format!("{count} x {what}"))?;
        }
        const MOST: usize = 20;
        for (what, count) in checks.wrong.iter().take(MOST) {
            row("WRONG", format!("{count} x {what}"))?;
        }
        row("verdict", if self.is_good() { "good" } else { "BAD" }.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_too_few_creates_fails() {
        let figures = |calls, due| {
            let checks = PodChecks { certain: 1, ..PodChecks::default() };
            Figures { calls, due, checks, took: Duration::from_secs(10), ..Figures::default() }
        };
        assert!(figures(1_900, 200).is_good() && figures(1, 0).is_good());
        let few = figures(1_899, 200);
        assert!(!few.is_good() && few.to_string().contains("TOO FEW of 200"), "{few}");
        assert!(few.to_string().trim_end().ends_with("BAD"), "{few}");
    }
}
