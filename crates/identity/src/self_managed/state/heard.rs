//! What watches and reads tell of objects.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use vestibule_pki::ring::{CaId, Mark, Moment, Seen};

use super::State;
use crate::self_managed::registration::Sight;
use crate::self_managed::watched::{By, is_older};
use crate::self_managed::watches::{self, News};

impl State {
    pub(in crate::self_managed) fn heard(&mut self, news: News, now: Moment) {
        match news {
            News::Ring(version) => {
                let ours = self.secret.version();
                let is_news = match (version.as_deref(), ours) {
                    (Some(version), Some(ours)) => version != ours && !is_older(version, ours),
                    (version, ours) => version.is_some() || ours.is_some(),
                };
                if is_news {
                    self.is_stale = true;
                    self.reading.stirred();
                    self.writing.stirred();
                }
            }
            News::Desired(desired) => {
                for watched in &mut self.registrations {
                    let desired = desired.iter().find(|desired| *desired.registration() == watched.name);
                    watched.want(desired.cloned());
                }
            }
            News::Unwatched { position, why } => {
                let Some(watched) = self.registrations.get_mut(position) else { return };
                // Without a watch it is read whenever the watch is refused again.
                watched.outdated = true;
                let text = format!("{} cannot be watched: {why}", watched.name);
                self.failed_at(position, Some("RegistrationDenied"), text);
            }
            News::Configuration { position, listed, object } => {
                let by = if listed { By::Read } else { By::Event };
                let is_news = match object {
                    watches::Change::Is(object) => self.take(position, &object, by, now),
                    watches::Change::Gone(version) => self.take_absence(position, version, now),
                };
                if is_news && let Some(watched) = self.registrations.get_mut(position) {
                    watched.reading.stirred();
                    watched.writing.stirred();
                }
            }
        }
    }

    /// Takes in what a configuration looks like. Says whether that is news.
    pub(super) fn take(&mut self, position: usize, object: &DynamicObject, by: By, now: Moment) -> bool {
        let corrected = self.corrected(now);
        let Some(watched) = self.registrations.get_mut(position) else { return false };
        let Some(jumped) = watched.take(object, by, &self.ours, corrected) else { return false };
        if jumped {
            self.seen.configuration_missed(position);
        }
        self.see(position, now);
        true
    }

    fn take_absence(&mut self, position: usize, version: Option<String>, now: Moment) -> bool {
        let Some(watched) = self.registrations.get_mut(position) else { return false };
        if watched.sight.is_some() && version.is_none() {
            // A list does not say how old it is.
            watched.outdated = true;
            return true;
        }
        let is_news = watched.take_absence(version);
        if is_news {
            self.see(position, now);
        }
        is_news
    }

    pub(super) fn see(&mut self, position: usize, now: Moment) {
        let corrected = self.corrected(now);
        let Some(watched) = self.registrations.get(position) else { return };
        let sight = watched.sight.as_ref();
        let mark = sight.and_then(|sight| sight.mark);
        let bundle = sight.and_then(|sight| sight.bundle().or_else(|| self.bundle_of(mark?)));
        let seen = Seen {
            bundle: &bundle.unwrap_or_default(),
            mark,
            changed: watched.changed(corrected).map(|changed| changed.min(corrected)),
            untidy: sight.is_some_and(Sight::is_untidy),
        };
        let stood = sight.and_then(|sight| sight.stood);
        self.seen.configuration_seen(position, seen, now, &self.settings.policy);
        if let Some(since) = stood {
            self.seen.configuration_stood(position, since);
        }
    }

    /// A configuration without entries of ours holds the bundle that its mark names.
    fn bundle_of(&self, mark: Mark) -> Option<BTreeSet<CaId>> {
        let past = self.past.iter().find(|(past, _)| *past == mark);
        past.map(|(_, certificates)| certificates.keys().copied().collect())
    }
}
