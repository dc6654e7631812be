//! Adds notices to the queue of the state. Each module of `state` names the reasons of its own Events; a new reason belongs into
//! `docs/reference/events.md` too.

use k8s_openapi::api::core::v1::ObjectReference;

use vestibule_pki::ring::Blocked;

use super::State;
use crate::IdentityEvent;
use crate::self_managed::notices::{About, Notice};

impl State {
    /// A notice for the operator, with its event for the observer.
    pub(super) fn notify(
        &mut self,
        about: About,
        (is_warning, reason): (bool, Option<&'static str>),
        text: String,
        event: Option<IdentityEvent>,
    ) {
        let about = match about {
            About::Ring => self.secret.reference(),
            About::Configuration(position) => self.reference(position),
        };
        self.notices.push(Notice { about, reason, is_warning, text, event });
    }

    /// A warning about the ring's Secret.
    pub(super) fn warn(&mut self, reason: &'static str, text: String) {
        self.notify(About::Ring, (true, Some(reason)), text, None);
    }

    /// A failed operation, which is tried again.
    pub(super) fn failed(&mut self, about: About, reason: Option<&'static str>, text: String) {
        let object = match about {
            About::Ring => self.secret_name.to_string(),
            About::Configuration(position) => {
                let watched = self.registrations.get(position);
                watched.map_or_else(String::new, |watched| watched.name.to_string())
            }
        };
        let event = IdentityEvent::Failed { object, reason: text.clone() };
        self.notify(about, (true, reason), text, Some(event));
    }

    /// The bundle was written.
    pub(super) fn published(&mut self, position: usize, repaired_from: Option<String>) {
        let about = About::Configuration(position);
        let Some(watched) = self.registrations.get(position) else { return };
        let is_empty = watched.snapshot.as_ref().is_some_and(|snapshot| snapshot.entries.is_empty());
        if is_empty && watched.desired.is_none() {
            let place = self.names.first().map_or("", String::as_str);
            let text = format!("no entry of {} leads to {place}: it gets no caBundle", watched.name);
            self.failed(about, Some("NoEntry"), text);
            return;
        }
        let registration = watched.name.clone();
        let (kind, text) = match &repaired_from {
            None => ((false, None), format!("{registration} holds the bundle")),
            Some(other) => (
                (true, Some("BundleRepaired")),
                format!("{registration} held another bundle than ours, last written by {other}: repaired"),
            ),
        };
        self.notify(about, kind, text, Some(IdentityEvent::BundleWritten { registration, repaired_from }));
    }

    /// The entries of this version were written.
    pub(super) fn registered(&mut self, position: usize, repaired_from: Option<String>) {
        let Some(watched) = self.registrations.get(position) else { return };
        let registration = watched.name.clone();
        let (kind, text) = match &repaired_from {
            None => {
                ((false, Some("Registered")), format!("{registration} holds the entries of this version"))
            }
            Some(other) => (
                (true, Some("EntriesRestored")),
                format!("{registration} had lost entries, last written by {other}: they are back"),
            ),
        };
        let event = IdentityEvent::EntriesWritten { registration, repaired_from };
        self.notify(About::Configuration(position), kind, text, Some(event));
    }

    /// A due action that `step` cannot resolve.
    pub(super) fn report(&mut self, blocked: Blocked) {
        let secret = &self.secret_name;
        let (reason, text) = match blocked {
            Blocked::Clock => (
                "ClockSkew",
                format!(
                    "the clock of this machine is {} s from the API server's: CAs are neither replaced nor removed until \
                     it is set",
                    self.seen.offset.unsigned_abs()
                ),
            ),
            Blocked::NewerSchema => (
                "NewerSchema",
                format!("the ring in Secret {secret} was written by a newer version: it is only read"),
            ),
            Blocked::UnknownLimit(count) => (
                "ForeignLimit",
                format!(
                    "configurations hold {count} CAs that the ring in Secret {secret} never made: they are trusted no longer \
                     (the policy `keep` for unknown CAs keeps up to {} of them where they are, for a migration)",
                    self.settings.policy.unknown_limit
                ),
            ),
            Blocked::Contested => (
                "UnknownAuthority",
                format!(
                    "a configuration holds CAs that the ring in Secret {secret} never made: they are replaced in {} s, unless \
                     a replica signs with one of them",
                    self.settings.policy.hold_cold.as_secs()
                ),
            ),
            // A denied write was reported when it was refused, and a waiting rotation needs no warning.
            _ => return,
        };
        self.warn(reason, text);
    }

    fn reference(&self, position: usize) -> ObjectReference {
        let Some(watched) = self.registrations.get(position) else { return ObjectReference::default() };
        let resource = watched.name.kind.resource();
        ObjectReference {
            api_version: Some(resource.api_version),
            kind: Some(resource.kind),
            name: Some(watched.name.name.clone()),
            uid: watched.snapshot.as_ref().and_then(|snapshot| snapshot.uid.clone()),
            ..ObjectReference::default()
        }
    }
}
