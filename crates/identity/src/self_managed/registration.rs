//! What a registered configuration says about us.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, Time};
use kube::api::DynamicObject;
use rustls_pki_types::CertificateDer;
use serde_json::Value;
use vestibule_pki::Bundle;
use vestibule_pki::ring::{CaId, Lineage, Mark, Moment};

use super::api_client::FIELD_MANAGERS;
use super::entries::StoredEntries;
use crate::registration::{GENERATION, LINEAGE, Place};
use crate::{NamespacedName, RegistrationKind, Settings};

/// Which entries are ours: those of our Service, or of a URL to one of our names. Others are never touched.
pub(super) struct EntryMatcher {
    service: Option<NamespacedName>,
    names: Vec<String>,
}

/// A configuration as it was at one version.
pub(super) struct ConfigSnapshot {
    pub(super) version: String,
    pub(super) uid: Option<String>,
    pub(super) entries: Vec<Entry>,
    pub(super) held: StoredEntries,
    pub(super) mark: Option<Mark>,
    /// When the mark was written, or without one, the object; by the API server's clock.
    pub(super) written: Option<Moment>,
    /// Since when its entries have been ours alone, and so as we wrote them.
    pub(super) unchanged_since: Option<Moment>,
    /// Whether there are any annotations to add to.
    pub(super) annotated: bool,
    /// Who else last wrote it.
    pub(super) other_manager: Option<String>,
}

/// A place for our `caBundle`.
pub(super) struct Entry {
    /// JSON pointer to the object that holds the `caBundle`.
    pub(super) place: String,
    /// What tells that the place is still the same one: pointers and values.
    pub(super) signs: Vec<(String, Value)>,
    /// The way to its `caBundle` in `managedFields`.
    pub(super) fields: Vec<String>,
    /// The `caBundle` as it is.
    pub(super) bytes: Vec<u8>,
    pub(super) bundle: Bundle,
}

impl EntryMatcher {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { service: settings.service.clone(), names: settings.all_names() }
    }

    /// What there is to know about this object.
    pub(super) fn see(&self, kind: RegistrationKind, object: &DynamicObject) -> ConfigSnapshot {
        let metadata = &object.metadata;
        let mark = mark(metadata);
        let created = metadata.creation_timestamp.as_ref().and_then(moment);
        let entries = self.entries(kind, &object.data);
        ConfigSnapshot {
            version: metadata.resource_version.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            unchanged_since: unchanged_since(metadata, &entries),
            other_manager: other_manager(metadata, &entries),
            entries,
            held: StoredEntries::see(kind, object),
            mark,
            written: if mark.is_some() { marked(metadata) } else { created },
            annotated: metadata.annotations.is_some(),
        }
    }

    fn entries(&self, kind: RegistrationKind, object: &Value) -> Vec<Entry> {
        kind.places(object).iter().filter_map(|place| self.entry(place)).collect()
    }

    fn entry(&self, place: &Place<'_>) -> Option<Entry> {
        let sign = self.sign(place)?;
        let name = place.name.as_ref().map(|(pointer, name)| (pointer.clone(), Value::from(*name)));
        let bytes = place.bundle();
        Some(Entry {
            place: place.pointer.clone(),
            signs: name.into_iter().chain([sign]).collect(),
            fields: place.fields(),
            bundle: Bundle::read(&bytes),
            bytes,
        })
    }

    fn sign(&self, place: &Place<'_>) -> Option<(String, Value)> {
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

    /// Whether an entry is not in the form that we would write its certificates in, or entries differ.
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

fn mark(metadata: &ObjectMeta) -> Option<Mark> {
    let annotations = metadata.annotations.as_ref()?;
    let lineage = u64::from_str_radix(annotations.get(LINEAGE)?, 16).ok()?;
    let generation = annotations.get(GENERATION)?.parse().ok()?;
    Some(Mark { lineage: Lineage(lineage), generation })
}

/// When our mark last changed: others may write the object as often as they like.
fn marked(metadata: &ObjectMeta) -> Option<Moment> {
    let entries = metadata.managed_fields.iter().flatten().filter(|entry| owns_field(entry, &mark_fields()));
    entries.filter_map(|entry| moment(entry.time.as_ref()?)).max()
}

/// A field that others write becomes theirs: what is ours alone is as it was when we last wrote anything.
fn unchanged_since(metadata: &ObjectMeta, entries: &[Entry]) -> Option<Moment> {
    let ours = mark_fields();
    let fields = || entries.iter().map(|entry| entry.fields.as_slice()).chain([ours.as_slice()]);
    let owners = metadata.managed_fields.iter().flatten();
    let owners = owners.filter(|entry| fields().any(|field| owns_field(entry, field)));
    let (mine, theirs): (Vec<_>, Vec<_>) = owners.partition(|entry| is_ours(entry));
    let is_theirs = !theirs.is_empty();
    let all_mine = fields().all(|field| mine.iter().any(|entry| owns_field(entry, field)));
    let time = mine.iter().filter_map(|entry| moment(entry.time.as_ref()?)).max();
    time.filter(|_| all_mine && !is_theirs)
}

fn mark_fields() -> [String; 3] {
    ["f:metadata", "f:annotations", &format!("f:{GENERATION}")].map(ToOwned::to_owned)
}

/// Whether this is a manager of ours.
pub(super) fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref().is_some_and(|manager| FIELD_MANAGERS.contains(&manager))
}

pub(super) fn owns_field(entry: &ManagedFieldsEntry, field: &[String]) -> bool {
    let all = entry.fields_v1.as_ref().map(|fields| &fields.0);
    all.and_then(|all| field.iter().try_fold(all, |fields, key| fields.get(key))).is_some()
}

/// Who besides us owns a `caBundle` of ours, else who else last wrote anything.
fn other_manager(metadata: &ObjectMeta, entries: &[Entry]) -> Option<String> {
    let others = || {
        let managers = metadata.managed_fields.iter().flatten();
        managers.filter(|entry| !is_ours(entry))
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
