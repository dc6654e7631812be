//! What must hold, since when it does or does not, and why not.

mod calendar;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use self::calendar::utc;
use crate::certificate::PresentCertificate;
use crate::shutdown::Phases;

/// Everything that readiness depends on.
pub(crate) struct Readiness {
    /// What must hold before hooks are asked.
    hooks: Vec<Condition>,
    /// What holds `/readyz` back beside that, and no hook.
    probes: Vec<Condition>,
    /// What answers at all.
    process: Condition,
    has_been_ready: AtomicBool,
}

/// One thing that must hold.
pub(crate) struct Condition {
    name: String,
    why_not: WhyNot,
    /// Whether what `why_not` says stands for itself, or wants the name before it.
    is_sentence: bool,
    seen: Mutex<Option<Seen>>,
}

/// Nothing where it holds; else why not, in a few words or in none.
pub(crate) type WhyNot = Arc<dyn Fn() -> Option<String> + Send + Sync>;

#[derive(Clone, Copy)]
struct Seen {
    holds: bool,
    since: SystemTime,
}

/// What one look has found.
pub(crate) struct Findings {
    /// What is missing, in short.
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
        process.look();
        Self { hooks, probes, process, has_been_ready: AtomicBool::new(false) }
    }

    /// What hooks wait for; nothing when they can be asked. A drain does not count: it answers normally.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.hooks.iter().filter_map(Condition::missing).collect()
    }

    /// Looks at everything, and remembers what has changed.
    pub(crate) fn look(&self) -> Findings {
        let (missing, lines): (Vec<_>, Vec<_>) =
            self.hooks.iter().chain(&self.probes).map(Condition::look).unzip();
        let missing: Vec<_> = missing.into_iter().flatten().collect();
        if missing.is_empty() {
            self.has_been_ready.store(true, Ordering::Relaxed);
        }
        Findings { missing, lines }
    }

    /// Since when there is a server.
    pub(crate) fn process(&self) -> String {
        self.process.look().1
    }

    /// Whether everything held once; nothing takes that back.
    pub(crate) fn has_been_ready(&self) -> bool {
        self.has_been_ready.load(Ordering::Relaxed)
    }
}

impl Condition {
    /// Known by its name, which is followed by what `why_not` says in brackets.
    pub(crate) fn new(name: String, why_not: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self { name, why_not: Arc::new(why_not), is_sentence: false, seen: Mutex::default() }
    }

    /// Known by what `why_not` says.
    pub(crate) fn sentence(
        name: impl Into<String>,
        why_not: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { is_sentence: true, ..Self::new(name.into(), why_not) }
    }

    fn missing(&self) -> Option<String> {
        self.why_not().map(|why| self.in_short(&why))
    }

    /// A panic in the closure ends neither the server that looks every second nor the call that asks.
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

    /// In short, where it does not hold; and its line.
    fn look(&self) -> (Option<String>, String) {
        let why = self.why_not();
        let now = Seen { holds: why.is_none(), since: SystemTime::now() };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { since, .. } = *match &mut *seen {
            Some(seen) if seen.holds == now.holds => seen,
            changed => changed.insert(now),
        };
        let (name, since) = (&self.name, utc(since));
        let line = match why.as_deref() {
            None => format!("[+]{name} ok since {since}"),
            Some("") => format!("[-]{name} since {since}"),
            Some(why) => {
                let after_the_name = why.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(' '));
                let why = after_the_name.unwrap_or(why);
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

    /// A line without its time.
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
            readiness.look().lines.iter().map(|line| timeless(line)).collect()
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

    /// A poisoned Mutex in a closure ended the process.
    #[test]
    fn a_condition_that_panics_does_not_hold() {
        let condition = Condition::new("the price list".to_owned(), || panic!("poisoned"));
        assert_eq!(condition.missing().as_deref(), Some("the price list (panicked)"));
        assert_eq!(timeless(&condition.look().1), "[-]the price list: panicked");
    }

    #[test]
    fn since_is_when_it_changed_and_not_when_it_was_looked_at() {
        let condition = Condition::new("cache".to_owned(), || None);
        let first = condition.look();
        let long_ago = SystemTime::UNIX_EPOCH;
        *condition.seen.lock().unwrap() = Some(Seen { holds: true, since: long_ago });
        assert_eq!(condition.look().1, "[+]cache ok since 1970-01-01T00:00:00Z");
        *condition.seen.lock().unwrap() = Some(Seen { holds: false, since: long_ago });
        assert!(condition.look().1 >= first.1);
    }
}
