//! Limits the rate of Events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Report;

/// The number of reports that are written at once, and the time after which one more may be written.
const BURST: u32 = 25;
const REFILL_INTERVAL: Duration = Duration::from_secs(2);

/// The most reports that are remembered, so that a flood of objects uses no more memory.
const MAX_REMEMBERED: usize = 2_000;

/// Two reports with equal keys are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    about: String,
    reason: &'static str,
    action: String,
}

/// Admits reports that are new, up to a rate.
pub(super) struct RateLimit {
    repeat_after: Duration,
    written: HashMap<Key, Instant>,
    available: u32,
    /// When `available` was last increased.
    refilled: Instant,
}

impl Key {
    /// The object is identified by its uid, or by its name without one.
    pub(super) fn of(report: &Report) -> Self {
        let Report { about, reason, action, .. } = report;
        let name = || format!("{:?}/{:?}/{:?}", about.kind, about.namespace, about.name);
        Self { about: about.uid.clone().unwrap_or_else(name), reason, action: action.clone() }
    }
}

impl RateLimit {
    pub(super) fn new(repeat_after: Duration, now: Instant) -> Self {
        Self { repeat_after, written: HashMap::new(), available: BURST, refilled: now }
    }

    /// Whether a report with this key may be written now; if so, it counts as written.
    pub(super) fn admits(&mut self, key: Key, now: Instant) -> bool {
        let repeat_after = self.repeat_after;
        let recent = |written: &Instant| now.duration_since(*written) < repeat_after;
        if self.written.get(&key).is_some_and(recent) || !self.has_available(now) {
            return false;
        }
        if self.written.len() >= MAX_REMEMBERED {
            self.written.retain(|_, written| recent(written));
        }
        if self.written.len() >= MAX_REMEMBERED {
            return false;
        }
        self.available -= 1;
        self.written.insert(key, now);
        true
    }

    fn has_available(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.refilled).as_secs() / REFILL_INTERVAL.as_secs();
        if let Ok(more) = u32::try_from(passed)
            && more > 0
        {
            self.available = self.available.saturating_add(more).min(BURST);
            self.refilled += REFILL_INTERVAL * more;
        }
        self.available > 0
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;

    use super::*;

    const AGAIN: Duration = Duration::from_secs(300);

    fn key(object: usize) -> Key {
        let about = ObjectReference { uid: Some(format!("u{object}")), ..ObjectReference::default() };
        let (reason, action) = ("InjectionConflict", "Inject nginx".to_owned());
        Key::of(&Report { about, is_warning: true, reason, action, note: String::new() })
    }

    #[test]
    fn a_repeated_report_is_written_once_in_its_period() {
        let start = Instant::now();
        let mut rate_limit = RateLimit::new(AGAIN, start);
        assert!(rate_limit.admits(key(1), start));
        assert!(!rate_limit.admits(key(1), start + AGAIN / 2));
        assert!(rate_limit.admits(key(2), start));
        assert!(rate_limit.admits(key(1), start + AGAIN));
        // A caller with its own rate limit passes zero.
        let mut rate_limit = RateLimit::new(Duration::ZERO, start);
        assert!(rate_limit.admits(key(1), start) && rate_limit.admits(key(1), start));
    }

    #[test]
    fn a_flood_of_reports_is_limited() {
        let start = Instant::now();
        let mut rate_limit = RateLimit::new(AGAIN, start);
        let admitted = (0..1_000).filter(|object| rate_limit.admits(key(*object), start)).count();
        assert_eq!(admitted, 25);
        let later = start + REFILL_INTERVAL * 3;
        let admitted = (1_000..2_000).filter(|object| rate_limit.admits(key(*object), later)).count();
        assert_eq!(admitted, 3);
    }

    #[test]
    fn the_rate_counts_parts_of_a_period() {
        let start = Instant::now();
        let mut rate_limit = RateLimit::new(AGAIN, start);
        assert_eq!((0..1_000).filter(|object| rate_limit.admits(key(*object), start)).count(), 25);
        // The limit is asked every 3 s, and admits one more report for every 2 s.
        let looks = (1..=20).map(|look| start + REFILL_INTERVAL * 3 / 2 * look);
        let admitted: usize = looks
            .map(|now| (1_000..2_000).filter(|object| rate_limit.admits(key(*object), now)).count())
            .sum();
        assert_eq!(admitted, 30);
    }

    #[test]
    fn memory_is_bounded() {
        let mut now = Instant::now();
        let mut rate_limit = RateLimit::new(AGAIN, now);
        for object in 0..10_000 {
            now += REFILL_INTERVAL;
            rate_limit.admits(key(object), now);
        }
        assert!(rate_limit.written.len() <= MAX_REMEMBERED, "{}", rate_limit.written.len());
    }
}
