//! The conditions of readiness: whether each holds, since when, and why not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use crate::certificate::PresentCertificate;
use crate::shutdown::Phases;

/// All conditions of one server.
pub(crate) struct Readiness {
    /// Without these, no hook is called.
    hooks: Vec<Condition>,
    /// Further conditions of `/readyz` only.
    probes: Vec<Condition>,
    /// Always holds; its line says since when the server exists.
    process: Condition,
    has_been_ready: AtomicBool,
}

/// One condition.
pub(crate) struct Condition {
    name: String,
    why_not: WhyNot,
    /// Whether the reason is shown alone, or after the name.
    is_sentence: bool,
    last: Mutex<Option<LastResult>>,
}

/// [`None`] if the condition holds, else the reason in a few words or an empty text.
pub(crate) type WhyNot = Arc<dyn Fn() -> Option<String> + Send + Sync>;

#[derive(Clone, Copy)]
struct LastResult {
    holds: bool,
    since: Timestamp,
}

/// The result of one check of all conditions.
pub(crate) struct Findings {
    /// The conditions that do not hold, each in a few words.
    pub(crate) missing: Vec<String>,
    /// A line for each condition.
    pub(crate) lines: Vec<String>,
}

impl Readiness {
    pub(crate) fn new(
        mut hooks: Vec<Condition>,
        mut probes: Vec<Condition>,
        certificate: Arc<dyn PresentCertificate>,
        phases: Phases,
    ) -> Self {
        hooks.push(Condition::sentence("certificate", move || certificate.missing()));
        probes
            .push(Condition::sentence("drain", move || phases.is_draining().then(|| "draining".to_owned())));
        let process = Condition::sentence("process", || None);
        process.check();
        Self { hooks, probes, process, has_been_ready: AtomicBool::new(false) }
    }

    /// The conditions without which no hook is called and that do not hold. A drain is none: a draining server answers normally.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.hooks.iter().filter_map(Condition::missing).collect()
    }

    /// Checks all conditions, and remembers when each of them changed.
    pub(crate) fn check(&self) -> Findings {
        let (missing, lines): (Vec<_>, Vec<_>) =
            self.hooks.iter().chain(&self.probes).map(Condition::check).unzip();
        let missing: Vec<_> = missing.into_iter().flatten().collect();
        if missing.is_empty() {
            self.has_been_ready.store(true, Ordering::Relaxed);
        }
        Findings { missing, lines }
    }

    /// The line that says since when the server exists.
    pub(crate) fn process(&self) -> String {
        self.process.check().1
    }

    /// Whether all conditions held at the same time once.
    pub(crate) fn has_been_ready(&self) -> bool {
        self.has_been_ready.load(Ordering::Relaxed)
    }
}

impl Condition {
    /// Shown as its name, with the reason behind it in brackets.
    pub(crate) fn new(name: String, why_not: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self { name, why_not: Arc::new(why_not), is_sentence: false, last: Mutex::default() }
    }

    /// Shown as its reason alone.
    pub(crate) fn sentence(
        name: impl Into<String>,
        why_not: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { is_sentence: true, ..Self::new(name.into(), why_not) }
    }

    fn missing(&self) -> Option<String> {
        self.why_not().map(|why| self.in_short(&why))
    }

    /// A panic in the closure ends neither the periodic check nor the call.
    fn why_not(&self) -> Option<String> {
        catch_unwind(AssertUnwindSafe(|| (self.why_not)())).unwrap_or_else(|_| Some("panicked".to_owned()))
    }

    fn in_short(&self, why: &str) -> String {
        match (self.is_sentence, why) {
            (true, why) => why.to_owned(),
            (false, "") => self.name.clone(),
            (false, why) => format!("{} ({why})", self.name),
        }
    }

    /// The short text if it does not hold, and its line.
    fn check(&self) -> (Option<String>, String) {
        let why = self.why_not();
        let now = LastResult { holds: why.is_none(), since: Timestamp::now() };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let LastResult { since, .. } = *match &mut *last {
            Some(last) if last.holds == now.holds => last,
            changed => changed.insert(now),
        };
        // To the second.
        let (name, since) = (&self.name, format!("{since:.0}"));
        let line = match why.as_deref() {
            None => format!("[+]{name} ok since {since}"),
            Some("") => format!("[-]{name} since {since}"),
            Some(why) => {
                let without_name = why.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(' '));
                let why = without_name.unwrap_or(why);
                format!("[-]{name} since {since}: {why}")
            }
        };
        (why.map(|why| self.in_short(&why)), line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CertificateCell;
    use crate::shutdown::Shutdown;

    /// A line without its timestamp.
    fn timeless(line: &str) -> String {
        let (before, after) = line.split_once(" since ").unwrap();
        let (time, after) = after.split_at("2026-11-21T23:45:00Z".len());
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        format!("{before}{after}")
    }

    #[test]
    fn each_condition_has_its_line() {
        let words = Arc::new(Mutex::new(Some("3 of 5".to_owned())));
        let why_not = Arc::clone(&words);
        let hooks =
            vec![Condition::new("the price list".to_owned(), move || why_not.lock().unwrap().clone())];
        let shutdown = Shutdown::new();
        let certificate = Arc::new(CertificateCell::default());
        let readiness = Readiness::new(hooks, Vec::new(), certificate, shutdown.phases());
        let lines = |readiness: &Readiness| -> Vec<_> {
            readiness.check().lines.iter().map(|line| timeless(line)).collect()
        };
        let certificate = "[-]certificate: a serving certificate";
        assert_eq!(lines(&readiness), ["[-]the price list: 3 of 5", certificate, "[+]drain ok"]);
        assert_eq!(readiness.missing(), ["the price list (3 of 5)", "a serving certificate"]);
        *words.lock().unwrap() = Some(String::new());
        assert_eq!(lines(&readiness), ["[-]the price list", certificate, "[+]drain ok"]);
        *words.lock().unwrap() = None;
        shutdown.drain();
        assert_eq!(lines(&readiness), ["[+]the price list ok", certificate, "[-]drain: draining"]);
        assert!(!readiness.has_been_ready());
    }

    /// A poisoned mutex in a closure ended the process once.
    #[test]
    fn a_condition_that_panics_does_not_hold() {
        let condition = Condition::new("the price list".to_owned(), || panic!("poisoned"));
        assert_eq!(condition.missing().as_deref(), Some("the price list (panicked)"));
        assert_eq!(timeless(&condition.check().1), "[-]the price list: panicked");
    }

    #[test]
    fn since_is_the_time_of_the_change_and_not_of_the_check() {
        let condition = Condition::new("cache".to_owned(), || None);
        let first = condition.check();
        // Seconds are cut off, not rounded.
        let long_ago = Timestamp::from_millisecond(900).unwrap();
        *condition.last.lock().unwrap() = Some(LastResult { holds: true, since: long_ago });
        assert_eq!(condition.check().1, "[+]cache ok since 1970-01-01T00:00:00Z");
        *condition.last.lock().unwrap() = Some(LastResult { holds: false, since: long_ago });
        assert!(condition.check().1 >= first.1);
    }
}
