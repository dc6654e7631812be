//! Reads our parts of a registered configuration.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, Time};
use kube::api::DynamicObject;
use rustls_pki_types::CertificateDer;
use serde_json::Value;
use vestibule_pki::Bundle;
use vestibule_pki::ring::{BundleMark, CaId, Lineage, Moment};

use super::entries::StoredEntries;
use super::managed_fields::{FieldManagers, owns_field};
use crate::inspect::{GENERATION, LINEAGE, Place};
use crate::{NamespacedName, RegistrationKind, Settings};

/// Tells which entries are ours: entries that call our Service, or a URL with one of our names. Others are never changed.
pub(super) struct EntryMatcher {
    service: Option<NamespacedName>,
    names: Vec<String>,
    managers: FieldManagers,
}

/// A configuration at one resourceVersion.
pub(super) struct ConfigSnapshot {
    pub(super) version: String,
    pub(super) uid: Option<String>,
    pub(super) entries: Vec<Entry>,
    pub(super) held: StoredEntries,
    pub(super) mark: Option<BundleMark>,
    /// When the mark was written, or the object if it has no mark; by the API server's clock.
    pub(super) written: Option<Moment>,
    /// Since when only our field managers own its bundles, which are therefore unchanged since then.
    pub(super) unchanged_since: Option<Moment>,
    /// Whether the object has annotations.
    pub(super) annotated: bool,
    /// The last other field manager.
    pub(super) other_manager: Option<String>,
}

/// A place for our `caBundle`.
pub(super) struct Entry {
    /// JSON pointer to the object that holds the `caBundle`.
    pub(super) place: String,
    /// Pointers and values that a patch tests, so that it changes the right entry.
    pub(super) test_values: Vec<(String, Value)>,
    /// The path of its `caBundle` in `managedFields`.
    pub(super) fields: Vec<String>,
    /// The stored `caBundle`.
    pub(super) bytes: Vec<u8>,
    pub(super) bundle: Bundle,
}

impl EntryMatcher {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            service: settings.service.clone(),
            names: settings.all_names(),
            managers: FieldManagers::new(&settings.manager),
        }
    }

    /// The snapshot of this object.
    pub(super) fn snapshot(&self, kind: RegistrationKind, object: &DynamicObject) -> ConfigSnapshot {
        let metadata = &object.metadata;
        let mark = mark(metadata);
        let created = metadata.creation_timestamp.as_ref().and_then(moment);
        let entries: Vec<_> =
            kind.places(&object.data).iter().filter_map(|place| self.entry(place)).collect();
        ConfigSnapshot {
            version: metadata.resource_version.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            unchanged_since: unchanged_since(metadata, &entries, &self.managers),
            other_manager: other_manager(metadata, &entries, &self.managers),
            entries,
            held: StoredEntries::read(kind, object, &self.managers),
            mark,
            written: if mark.is_some() { marked(metadata) } else { created },
            annotated: metadata.annotations.is_some(),
        }
    }

    fn entry(&self, place: &Place<'_>) -> Option<Entry> {
        let test_value = self.test_value(place)?;
        let name = place.name.as_ref().map(|(pointer, name)| (pointer.clone(), Value::from(*name)));
        let bytes = place.bundle();
        Some(Entry {
            place: place.pointer.clone(),
            test_values: name.into_iter().chain([test_value]).collect(),
            fields: place.fields(),
            bundle: Bundle::read(&bytes),
            bytes,
        })
    }

    /// The pointer and value that tell the entry from others, if it is one of this webhook.
    fn test_value(&self, place: &Place<'_>) -> Option<(String, Value)> {
        let pointer = &place.pointer;
        if let Some(service) = place.service() {
            let ours = self.service.as_ref()?;
            let same = service == (&ours.namespace, &ours.name);
            return same.then(|| (format!("{pointer}/service/name"), Value::from(service.1)));
        }
        let url = place.url()?;
        let uri: http::Uri = url.parse().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']);
        let same = self.names.iter().any(|name| name.eq_ignore_ascii_case(host));
        same.then(|| (format!("{pointer}/url"), Value::from(url)))
    }
}

impl ConfigSnapshot {
    /// The CAs that every entry trusts; [`None`] without entries of ours.
    pub(super) fn bundle(&self) -> Option<BTreeSet<CaId>> {
        let sets = self
            .entries
            .iter()
            .map(|entry| entry.bundle.certificates.keys().copied().collect::<BTreeSet<_>>());
        sets.reduce(|all, next| &all & &next)
    }

    /// Whether entries differ, or one is not in the canonical PEM form.
    pub(super) fn is_untidy(&self) -> bool {
        let first = self.entries.first();
        self.entries
            .iter()
            .any(|entry| !entry.bundle.is_canonical || first.is_some_and(|first| first.bytes != entry.bytes))
    }

    pub(super) fn certificates(&self) -> impl Iterator<Item = CertificateDer<'static>> {
        self.entries.iter().flat_map(|entry| entry.bundle.certificates.values().cloned())
    }
}

fn mark(metadata: &ObjectMeta) -> Option<BundleMark> {
    let annotations = metadata.annotations.as_ref()?;
    let lineage = u64::from_str_radix(annotations.get(LINEAGE)?, 16).ok()?;
    let generation = annotations.get(GENERATION)?.parse().ok()?;
    Some(BundleMark { lineage: Lineage(lineage), generation })
}

/// When our mark last changed; other writes of the object do not count.
fn marked(metadata: &ObjectMeta) -> Option<Moment> {
    let entries = metadata.managed_fields.iter().flatten().filter(|entry| owns_field(entry, &mark_fields()));
    entries.filter_map(|entry| moment(entry.time.as_ref()?)).max()
}

/// The time of our last write, if only our field managers own the bundles and the mark: another writer would have become an
/// owner.
fn unchanged_since(metadata: &ObjectMeta, entries: &[Entry], managers: &FieldManagers) -> Option<Moment> {
    let ours = mark_fields();
    let fields = || entries.iter().map(|entry| entry.fields.as_slice()).chain([ours.as_slice()]);
    let owners = metadata.managed_fields.iter().flatten();
    let owners = owners.filter(|entry| fields().any(|field| owns_field(entry, field)));
    let (mine, theirs): (Vec<_>, Vec<_>) = owners.partition(|entry| managers.include(entry));
    let is_theirs = !theirs.is_empty();
    let all_mine = fields().all(|field| mine.iter().any(|entry| owns_field(entry, field)));
    let time = mine.iter().filter_map(|entry| moment(entry.time.as_ref()?)).max();
    time.filter(|_| all_mine && !is_theirs)
}

fn mark_fields() -> [String; 3] {
    ["f:metadata", "f:annotations", &format!("f:{GENERATION}")].map(ToOwned::to_owned)
}

/// The other field manager that owns one of our `caBundle`s, or else the last other field manager.
fn other_manager(metadata: &ObjectMeta, entries: &[Entry], managers: &FieldManagers) -> Option<String> {
    let others = || {
        let all = metadata.managed_fields.iter().flatten();
        all.filter(|entry| !managers.include(entry))
    };
    let owns = |manager: &&ManagedFieldsEntry| entries.iter().any(|entry| owns_field(manager, &entry.fields));
    let time = |entry: &&ManagedFieldsEntry| entry.time.as_ref().and_then(moment);
    let last = others().filter(owns).max_by_key(time).or_else(|| others().max_by_key(time));
    last.and_then(|entry| entry.manager.clone())
}

fn moment(time: &Time) -> Option<Moment> {
    u64::try_from(time.0.as_second()).ok().map(Moment)
}

#[cfg(test)]
mod tests;
