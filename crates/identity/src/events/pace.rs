//! Limits the rate of Events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Report;

/// All together: so many at once, and one more each time so much has passed.
const AT_ONCE: u32 = 25;
const ONE_MORE: Duration = Duration::from_secs(2);

/// The most reports that are remembered, so that a flood of objects uses no more memory.
const REMEMBERED: usize = 2_000;

/// Two reports with equal keys are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    about: String,
    reason: &'static str,
    action: String,
}

/// Admits reports that are new, up to a rate.
pub(super) struct Pace {
    again: Duration,
    told: HashMap<Key, Instant>,
    left: u32,
    /// When `left` was last counted up.
    counted: Instant,
}

impl Key {
    /// The object is identified by its uid, or by its name without one.
    pub(super) fn of(report: &Report) -> Self {
        let Report { about, reason, action, .. } = report;
        let name = || format!("{:?}/{:?}/{:?}", about.kind, about.namespace, about.name);
        Self { about: about.uid.clone().unwrap_or_else(name), reason, action: action.clone() }
    }
}

impl Pace {
    pub(super) fn new(again: Duration, now: Instant) -> Self {
        Self { again, told: HashMap::new(), left: AT_ONCE, counted: now }
    }

    /// Whether a report with this key may be written now; if so, it counts as written.
    pub(super) fn admits(&mut self, key: Key, now: Instant) -> bool {
        let again = self.again;
        let recent = |told: &Instant| now.duration_since(*told) < again;
        if self.told.get(&key).is_some_and(recent) || !self.has_one_left(now) {
            return false;
        }
        if self.told.len() >= REMEMBERED {
            self.told.retain(|_, told| recent(told));
        }
        if self.told.len() >= REMEMBERED {
            return false;
        }
        self.left -= 1;
        self.told.insert(key, now);
        true
    }

    fn has_one_left(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.counted).as_secs() / ONE_MORE.as_secs();
        if let Ok(more) = u32::try_from(passed)
            && more > 0
        {
            self.left = self.left.saturating_add(more).min(AT_ONCE);
            self.counted += ONE_MORE * more;
        }
        self.left > 0
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
        let mut pace = Pace::new(AGAIN, start);
        assert!(pace.admits(key(1), start));
        assert!(!pace.admits(key(1), start + AGAIN / 2));
        assert!(pace.admits(key(2), start));
        assert!(pace.admits(key(1), start + AGAIN));
        // A caller with its own rate limit passes zero.
        let mut pace = Pace::new(Duration::ZERO, start);
        assert!(pace.admits(key(1), start) && pace.admits(key(1), start));
    }

    #[test]
    fn a_flood_of_reports_is_limited() {
        let start = Instant::now();
        let mut pace = Pace::new(AGAIN, start);
        let admitted = (0..1_000).filter(|object| pace.admits(key(*object), start)).count();
        assert_eq!(admitted, 25);
        let later = start + ONE_MORE * 3;
        let admitted = (1_000..2_000).filter(|object| pace.admits(key(*object), later)).count();
        assert_eq!(admitted, 3);
    }

    #[test]
    fn the_rate_counts_parts_of_a_period() {
        let start = Instant::now();
        let mut pace = Pace::new(AGAIN, start);
        assert_eq!((0..1_000).filter(|object| pace.admits(key(*object), start)).count(), 25);
        // Looked at every 3 s: one more every two.
        let looks = (1..=20).map(|look| start + ONE_MORE * 3 / 2 * look);
        let admitted: usize =
            looks.map(|now| (1_000..2_000).filter(|object| pace.admits(key(*object), now)).count()).sum();
        assert_eq!(admitted, 30);
    }

    #[test]
    fn memory_is_bounded() {
        let mut now = Instant::now();
        let mut pace = Pace::new(AGAIN, now);
        for object in 0..10_000 {
            now += ONE_MORE;
            pace.admits(key(object), now);
        }
        assert!(pace.told.len() <= REMEMBERED, "{}", pace.told.len());
    }
}
