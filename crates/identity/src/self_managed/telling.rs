//! Telling people what happens: log lines, Events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;

use super::backoff::fraction;
use crate::Happening;

/// The same trouble is told again after this long.
const AGAIN: Duration = Duration::from_secs(30);
/// More Events than this at once help nobody.
const WAITING: usize = 32;

/// Something worth telling. It names fields and objects, never what they hold.
pub(super) struct Tale {
    /// The object that it is about.
    pub(super) about: ObjectReference,
    /// The Event's reason; [`None`] if a line in the log is enough.
    pub(super) reason: Option<&'static str>,
    pub(super) is_trouble: bool,
    pub(super) text: String,
    /// For the observer, every time.
    pub(super) happening: Option<Happening>,
}

/// Tells. Trouble at most once in half a minute for each cause.
pub(super) struct Teller {
    events: mpsc::Sender<(Event, ObjectReference)>,
    told: HashMap<(Option<&'static str>, String), Instant>,
}

impl Teller {
    pub(super) fn new() -> (Self, mpsc::Receiver<(Event, ObjectReference)>) {
        let (events, queue) = mpsc::channel(WAITING);
        (Self { events, told: HashMap::new() }, queue)
    }

    pub(super) fn tell(&mut self, tale: Tale) {
        let Tale { about, reason, is_trouble, text, .. } = tale;
        if is_trouble && !self.is_news(reason, &about) {
            return;
        }
        if is_trouble {
            tracing::warn!("{text}");
        } else {
            tracing::info!("{text}");
        }
        if let Some(reason) = reason {
            let type_ = if is_trouble { EventType::Warning } else { EventType::Normal };
            let action = if is_trouble { "Repair" } else { "Rotate" };
            let note = Some(short(&text));
            let event =
                Event { type_, reason: reason.to_owned(), note, action: action.to_owned(), secondary: None };
            // A full queue means that Events are refused or slow; the log has it.
            let _ = self.events.try_send((event, about));
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

/// An Event holds a kilobyte of text.
fn short(text: &str) -> String {
    text.chars().take(900).collect()
}

/// Writes Events one after the other; that it cannot is no trouble.
pub(super) async fn record(client: kube::Client, mut queue: mpsc::Receiver<(Event, ObjectReference)>) {
    // The Downward API or the kubelet names the pod.
    let pod = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME"));
    let instance = pod
        .unwrap_or_else(|_| format!("vestibule-{:08x}", (fraction() * f64::from(u32::MAX)).to_bits() >> 20));
    let recorder =
        Recorder::new(client, Reporter { controller: "vestibule".to_owned(), instance: Some(instance) });
    while let Some((event, about)) = queue.recv().await {
        if let Err(error) = recorder.publish(&event, &about).await {
            tracing::debug!("an Event cannot be written: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(reason: &'static str, name: &str) -> Tale {
        let about = ObjectReference { name: Some(name.to_owned()), ..ObjectReference::default() };
        Tale { about, reason: Some(reason), is_trouble: true, text: "as it is".to_owned(), happening: None }
    }

    #[test]
    fn the_same_trouble_is_told_once_in_half_a_minute() {
        let (mut teller, mut events) = Teller::new();
        let mut told = |teller: &mut Teller, tale| {
            teller.tell(tale);
            events.try_recv().is_ok()
        };
        assert!(told(&mut teller, trouble("RingNotWritten", "ring")));
        assert!(!told(&mut teller, trouble("RingNotWritten", "ring")));
        assert!(told(&mut teller, trouble("RingNotWritten", "another")), "another object is news");
        assert!(told(&mut teller, trouble("ClockSkew", "ring")), "another cause is news");
        for when in teller.told.values_mut() {
            *when -= AGAIN;
        }
        assert!(told(&mut teller, trouble("RingNotWritten", "ring")));
    }
}
