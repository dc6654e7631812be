//! Sends notices to the log and to Kubernetes Events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;

use crate::IdentityEvent;
use crate::events::{Events, Report, Waiting};

/// The same warning is sent again after this time.
const AGAIN: Duration = Duration::from_secs(30);

/// The object of a notice.
#[derive(Clone, Copy)]
pub(super) enum About {
    /// The ring's Secret.
    Ring,
    /// The configuration at this position.
    Configuration(usize),
}

/// A notice for the operator. It names fields and objects, never their content.
pub(super) struct Notice {
    /// The object of the notice.
    pub(super) about: ObjectReference,
    /// The Event's reason; [`None`] if a line in the log is enough.
    pub(super) reason: Option<&'static str>,
    pub(super) is_trouble: bool,
    pub(super) text: String,
    /// The event for the observer, which gets every one.
    pub(super) event: Option<IdentityEvent>,
}

/// Sends notices; a warning at most once in 30 s for each reason and object.
pub(super) struct Notifier {
    events: Events,
    told: HashMap<(Option<&'static str>, String), Instant>,
}

impl Notifier {
    pub(super) fn new() -> (Self, Waiting) {
        // Repeated notices are dropped here, so the queue of Events needs no limit of its own.
        let (events, waiting) = Events::queue(Duration::ZERO);
        (Self { events, told: HashMap::new() }, waiting)
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        let Notice { about, reason, is_trouble, text, .. } = notice;
        if is_trouble && !self.is_news(reason, &about) {
            return;
        }
        if is_trouble {
            tracing::warn!("{text}");
        } else {
            tracing::info!("{text}");
        }
        if let Some(reason) = reason {
            let action = if is_trouble { "Repair" } else { "Rotate" }.to_owned();
            self.events.tell(Report { about, is_warning: is_trouble, reason, action, note: text });
        }
    }

    fn is_news(&mut self, reason: Option<&'static str>, about: &ObjectReference) -> bool {
        let now = Instant::now();
        self.told.retain(|_, told| now.saturating_duration_since(*told) < AGAIN);
        let key = (reason, format!("{:?}/{:?}", about.kind, about.name));
        if self.told.contains_key(&key) {
            return false;
        }
        self.told.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(reason: &'static str, name: &str) -> Notice {
        let about = ObjectReference { name: Some(name.to_owned()), ..ObjectReference::default() };
        Notice { about, reason: Some(reason), is_trouble: true, text: "as it is".to_owned(), event: None }
    }

    #[test]
    fn the_same_warning_is_sent_once_in_half_a_minute() {
        let (mut notifier, mut events) = Notifier::new();
        let mut told = |notifier: &mut Notifier, notice| {
            notifier.tell(notice);
            events.next().is_some()
        };
        assert!(told(&mut notifier, trouble("RingNotWritten", "ring")));
        assert!(!told(&mut notifier, trouble("RingNotWritten", "ring")));
        assert!(told(&mut notifier, trouble("RingNotWritten", "another")), "another object is news");
        assert!(told(&mut notifier, trouble("ClockSkew", "ring")), "another cause is news");
        for when in notifier.told.values_mut() {
            *when -= AGAIN;
        }
        assert!(told(&mut notifier, trouble("RingNotWritten", "ring")));
    }
}
