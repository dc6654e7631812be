//! Makes the notices.

use k8s_openapi::api::core::v1::ObjectReference;

use vestibule_pki::ring::Blocked;

use super::State;
use crate::IdentityEvent;
use crate::self_managed::notices::Notice;

impl State {
    /// A notice about the ring.
    pub(super) fn tell(&mut self, reason: Option<&'static str>, text: String, event: Option<IdentityEvent>) {
        self.notices.push(Notice { about: self.secret_reference(), reason, is_trouble: false, text, event });
    }

    /// A warning about the ring's Secret.
    pub(super) fn trouble(&mut self, reason: Option<&'static str>, text: String) {
        self.notices.push(Notice {
            about: self.secret_reference(),
            reason,
            is_trouble: true,
            text,
            event: None,
        });
    }

    /// A failed operation on the ring's Secret, which is tried again.
    pub(super) fn failed(&mut self, reason: Option<&'static str>, text: String) {
        let event = IdentityEvent::Failed { object: self.secret_name.to_string(), reason: text.clone() };
        let about = self.secret_reference();
        self.notices.push(Notice { about, reason, is_trouble: true, text, event: Some(event) });
    }

    /// A failed operation on a configuration, which is tried again.
    pub(super) fn failed_at(&mut self, position: usize, reason: Option<&'static str>, text: String) {
        let object =
            self.registrations.get(position).map_or_else(String::new, |watched| watched.name.to_string());
        let event = IdentityEvent::Failed { object, reason: text.clone() };
        let about = self.reference(position);
        self.notices.push(Notice { about, reason, is_trouble: true, text, event: Some(event) });
    }

    /// The stored ring does not continue the known one.
    pub(super) fn discontinued(&mut self, text: String) {
        let about = self.secret_reference();
        let event = Some(IdentityEvent::Discontinuity);
        self.notices.push(Notice { about, reason: Some("RingDiscontinued"), is_trouble: true, text, event });
    }

    pub(super) fn published(&mut self, position: usize, repaired_from: Option<String>) {
        let Some(watched) = self.registrations.get(position) else { return };
        let is_empty = watched.snapshot.as_ref().is_some_and(|snapshot| snapshot.entries.is_empty());
        if is_empty && watched.desired.is_none() {
            let place = self.names.first().map_or("", String::as_str);
            let text = format!("no entry of {} leads to {place}: it gets no caBundle", watched.name);
            self.failed_at(position, Some("NoEntry"), text);
            return;
        }
        let registration = watched.name.clone();
        let is_repair = repaired_from.is_some();
        let text = match &repaired_from {
            None => format!("{registration} holds the bundle"),
            Some(other) => {
                format!("{registration} held another bundle than ours, last written by {other}: repaired")
            }
        };
        let reason = is_repair.then_some("BundleRepaired");
        let event = Some(IdentityEvent::BundleWritten { registration, repaired_from });
        self.notices.push(Notice {
            about: self.reference(position),
            reason,
            is_trouble: is_repair,
            text,
            event,
        });
    }

    /// The entries of this version were written.
    pub(super) fn registered(&mut self, position: usize, repaired_from: Option<String>) {
        let Some(watched) = self.registrations.get(position) else { return };
        let registration = watched.name.clone();
        let is_trouble = repaired_from.is_some();
        let (reason, text) = match &repaired_from {
            None => ("Registered", format!("{registration} holds the entries of this version")),
            Some(other) => (
                "EntriesRestored",
                format!("{registration} had lost entries, last written by {other}: they are back"),
            ),
        };
        let event = Some(IdentityEvent::EntriesWritten { registration, repaired_from });
        let (about, reason) = (self.reference(position), Some(reason));
        self.notices.push(Notice { about, reason, is_trouble, text, event });
    }

    /// A due action that `step` cannot resolve.
    pub(super) fn report(&mut self, blocked: Blocked) {
        match blocked {
            Blocked::Clock => self.trouble(
                Some("ClockSkew"),
                format!(
                    "the clock of this machine is {} s from the API server's: CAs are neither replaced nor removed until \
                     it is set",
                    self.seen.offset.unsigned_abs()
                ),
            ),
            Blocked::NewerSchema => self.trouble(
                Some("NewerSchema"),
                format!("the ring in Secret {} was written by a newer version: it is only read", self.secret_name),
            ),
            Blocked::UnknownLimit(count) => self.trouble(
                Some("ForeignLimit"),
                format!(
                    "configurations hold {count} CAs that the ring in Secret {} never made: they are trusted no longer \
                     (`--unknown-ca keep` keeps up to {} of them where they are, for a migration)",
                    self.secret_name, self.settings.policy.unknown_limit
                ),
            ),
            Blocked::Contested => self.trouble(
                Some("UnknownAuthority"),
                format!(
                    "a configuration holds CAs that the ring in Secret {} never made: they are replaced in {} s, unless a \
                     replica signs with one of them",
                    self.secret_name,
                    self.settings.policy.hold_cold.as_secs()
                ),
            ),
            // A denied write was reported when it was refused, and a waiting rotation needs no warning.
            _ => {}
        }
    }

    pub(super) fn secret_reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Secret".to_owned()),
            name: Some(self.secret_name.name.clone()),
            namespace: Some(self.secret_name.namespace.clone()),
            uid: self.secret.uid().map(ToOwned::to_owned),
            ..ObjectReference::default()
        }
    }

    pub(super) fn reference(&self, position: usize) -> ObjectReference {
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
