//! Sends notices to the log and to Kubernetes Events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;

use crate::IdentityEvent;
use crate::events::{Events, Report, Waiting};

/// The same warning is sent again after this time.
const REPEAT_AFTER: Duration = Duration::from_secs(30);

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
    pub(super) is_warning: bool,
    pub(super) text: String,
    /// The event for the observer, which gets every one.
    pub(super) event: Option<IdentityEvent>,
}

/// Sends notices; a warning at most once in 30 s for each reason and object.
pub(super) struct Notifier {
    events: Events,
    last_sent: HashMap<(Option<&'static str>, String), Instant>,
}

impl Notifier {
    pub(super) fn new() -> (Self, Waiting) {
        // Repeated notices are dropped here, so the queue of Events needs no limit of its own.
        let (events, waiting) = Events::queue(Duration::ZERO);
        (Self { events, last_sent: HashMap::new() }, waiting)
    }

    pub(super) fn send(&mut self, notice: Notice) {
        let Notice { about, reason, is_warning, text, .. } = notice;
        if is_warning && !self.is_new(reason, &about) {
            return;
        }
        if is_warning {
            tracing::warn!("{text}");
        } else {
            tracing::info!("{text}");
        }
        if let Some(reason) = reason {
            let action = if is_warning { "Repair" } else { "Rotate" }.to_owned();
            self.events.tell(Report { about, is_warning, reason, action, note: text });
        }
    }

    fn is_new(&mut self, reason: Option<&'static str>, about: &ObjectReference) -> bool {
        let now = Instant::now();
        self.last_sent.retain(|_, sent| now.saturating_duration_since(*sent) < REPEAT_AFTER);
        let key = (reason, format!("{:?}/{:?}", about.kind, about.name));
        if self.last_sent.contains_key(&key) {
            return false;
        }
        self.last_sent.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(reason: &'static str, name: &str) -> Notice {
        let about = ObjectReference { name: Some(name.to_owned()), ..ObjectReference::default() };
        Notice { about, reason: Some(reason), is_warning: true, text: "as it is".to_owned(), event: None }
    }

    #[test]
    fn the_same_warning_is_sent_once_in_half_a_minute() {
        let (mut notifier, mut events) = Notifier::new();
        let mut sent = |notifier: &mut Notifier, notice| {
            notifier.send(notice);
            events.next().is_some()
        };
        assert!(sent(&mut notifier, warning("RingNotWritten", "ring")));
        assert!(!sent(&mut notifier, warning("RingNotWritten", "ring")));
        assert!(sent(&mut notifier, warning("RingNotWritten", "another")), "another object is news");
        assert!(sent(&mut notifier, warning("ClockSkew", "ring")), "another cause is news");
        for when in notifier.last_sent.values_mut() {
            *when -= REPEAT_AFTER;
        }
        assert!(sent(&mut notifier, warning("RingNotWritten", "ring")));
    }
}
