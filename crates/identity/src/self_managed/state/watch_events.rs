//! Takes in watch events and reads of objects.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use vestibule_pki::ring::{BundleMark, CaId, Moment, Seen};

use super::State;
use crate::self_managed::notices::About;
use crate::self_managed::registration::ConfigSnapshot;
use crate::self_managed::watched::SnapshotSource;
use crate::self_managed::watches::{self, WatchEvent};

impl State {
    pub(in crate::self_managed) fn watch_event(&mut self, event: WatchEvent, now: Moment) {
        match event {
            WatchEvent::Ring(version) => {
                // An older version is read too: etcd may have been restored from a snapshot.
                if version.as_deref() != self.secret.version() {
                    self.is_stale = true;
                    self.reading.object_changed();
                    self.writing.object_changed();
                }
            }
            WatchEvent::Desired(desired) => {
                let registered = self.seen.configurations.len();
                for (position, watched) in self.registrations.iter_mut().enumerate() {
                    let next = desired.iter().find(|desired| *desired.registration() == watched.name);
                    // Without a registration, no replica keeps the bundle of the object, so the object gets no entries.
                    if position < registered || next.is_none_or(|next| next.entries().is_empty()) {
                        watched.set_desired(next.cloned());
                    }
                }
            }
            WatchEvent::Unwatched { position, why } => {
                let Some(watched) = self.registrations.get_mut(position) else { return };
                // Without a watch it is read each time that the watch is refused.
                watched.outdated = true;
                let text = format!("{} cannot be watched: {why}", watched.name);
                self.failed(About::Configuration(position), Some("RegistrationDenied"), text);
            }
            WatchEvent::Configuration { position, listed, object } => {
                let by = if listed { SnapshotSource::List } else { SnapshotSource::Event };
                let is_new = match object {
                    watches::Change::Stored(object) => self.take(position, &object, by, now),
                    watches::Change::Deleted(version) => self.take_absence(position, version, now),
                };
                if is_new && let Some(watched) = self.registrations.get_mut(position) {
                    watched.reading.object_changed();
                    watched.writing.object_changed();
                }
            }
        }
    }

    /// Takes in a version of a configuration. Returns whether it is new.
    pub(super) fn take(
        &mut self,
        position: usize,
        object: &DynamicObject,
        by: SnapshotSource,
        now: Moment,
    ) -> bool {
        let corrected = self.corrected(now);
        let Some(watched) = self.registrations.get_mut(position) else { return false };
        let Some(jumped) = watched.take(object, by, &self.ours, corrected) else { return false };
        if jumped {
            self.seen.configuration_missed(position);
        }
        self.observe(position, now);
        true
    }

    fn take_absence(&mut self, position: usize, version: Option<String>, now: Moment) -> bool {
        let Some(watched) = self.registrations.get_mut(position) else { return false };
        if watched.snapshot.is_some() && version.is_none() {
            // A list without the object has no version, so the object is read to be sure.
            watched.outdated = true;
            return true;
        }
        self.absent(position, version, now)
    }

    /// Takes in that the API server has no such configuration. Returns whether that is new.
    pub(super) fn absent(&mut self, position: usize, version: Option<String>, now: Moment) -> bool {
        let Some(watched) = self.registrations.get_mut(position) else { return false };
        let was_there = watched.snapshot.is_some();
        let is_new = watched.take_absence(version);
        if was_there && watched.snapshot.is_none() {
            let text = format!(
                "{} was deleted: the API server does not call this webhook by it until its manifest is applied again",
                watched.name
            );
            self.notify(About::Configuration(position), (true, None), text, None);
        }
        if is_new {
            self.observe(position, now);
        }
        is_new
    }

    pub(super) fn observe(&mut self, position: usize, now: Moment) {
        let corrected = self.corrected(now);
        let Some(watched) = self.registrations.get(position) else { return };
        let snapshot = watched.snapshot.as_ref();
        let mark = snapshot.and_then(|snapshot| snapshot.mark);
        let bundle = snapshot.and_then(|snapshot| snapshot.bundle().or_else(|| self.bundle_of(mark?)));
        let seen = Seen {
            bundle: &bundle.unwrap_or_default(),
            mark,
            changed: watched.changed(corrected).map(|changed| changed.min(corrected)),
            untidy: snapshot.is_some_and(ConfigSnapshot::is_untidy),
        };
        let unchanged_since = snapshot.and_then(|snapshot| snapshot.unchanged_since);
        self.seen.configuration_seen(position, seen, now, &self.settings.policy);
        if let Some(since) = unchanged_since {
            self.seen.configuration_unchanged_since(position, since);
        }
    }

    /// The bundle that a mark names. A configuration without entries of ours counts as holding it.
    fn bundle_of(&self, mark: BundleMark) -> Option<BTreeSet<CaId>> {
        let past = self.past.iter().find(|(past, _)| *past == mark);
        past.map(|(_, certificates)| certificates.keys().copied().collect())
    }
}
