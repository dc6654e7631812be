//! Compares one configuration with the ring.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::DynamicObject;
use serde_json::Value;
use vestibule_pki::Bundle;
use vestibule_pki::ring::Facts;

use super::lineage;
use super::report::{EntryReport, RegistrationReport};
use crate::registration::{GENERATION, LINEAGE, Place};
use crate::{NamespacedName, RegistrationName};

pub(super) fn report(
    registration: RegistrationName,
    object: Option<&DynamicObject>,
    service: Option<&NamespacedName>,
    ring: Option<&Facts>,
) -> RegistrationReport {
    let Some(object) = object else {
        let differences = vec!["it does not exist".to_owned()];
        return RegistrationReport {
            registration,
            entries: Vec::new(),
            generation: None,
            written_by: None,
            differences,
        };
    };
    let places = registration.kind.places(&object.data);
    let entries: Vec<_> = places
        .iter()
        .filter_map(Entry::read)
        .filter(|entry| service.is_none_or(|service| entry.target == service.to_string()))
        .collect();
    let annotation = |key| object.metadata.annotations.as_ref()?.get(key).map(String::as_str);
    let generation = annotation(GENERATION).and_then(|text| text.parse().ok());
    let mut differences = Vec::new();
    if let Some(ring) = ring {
        differences.extend(mark(annotation(LINEAGE), generation, ring));
        differences.extend(entries.iter().flat_map(|entry| entry.differences(ring)));
    }
    if entries.is_empty() && (service.is_some() || annotation(GENERATION).is_none()) {
        differences.push(match service {
            Some(service) => format!("no entry calls the Service {service}"),
            None => "it has no entry".to_owned(),
        });
    }
    let written_by = writer(object);
    let entries = entries.into_iter().map(Entry::report).collect();
    RegistrationReport { registration, entries, generation, written_by, differences }
}

/// The annotations are written together with the bundles.
fn mark(found: Option<&str>, generation: Option<u64>, ring: &Facts) -> Option<String> {
    let Some(found) = found else {
        return Some("no replica has written it yet (no annotation)".to_owned());
    };
    if found != lineage(ring) {
        return Some(format!("its annotation names another ring ({found})"));
    }
    match generation {
        Some(generation) if generation == ring.generation => None,
        Some(generation) => {
            Some(format!("its annotation says generation {generation}, the ring is at {}", ring.generation))
        }
        None => Some("its annotation of the generation cannot be read".to_owned()),
    }
}

struct Entry {
    name: String,
    target: String,
    bundle: Bundle,
}

impl Entry {
    fn read(place: &Place<'_>) -> Option<Self> {
        let target = match place.service() {
            Some((namespace, name)) => format!("{namespace}/{name}"),
            None => place.url()?.to_owned(),
        };
        let name = place.name.as_ref().map_or(place.pointer.as_str(), |(_, name)| name).to_owned();
        Some(Self { name, target, bundle: Bundle::read(&place.bundle()) })
    }

    fn differences(&self, ring: &Facts) -> Vec<String> {
        let name = &self.name;
        if let Some(problem) = &self.bundle.problem {
            return vec![format!("{name}: {problem}")];
        }
        let found: BTreeSet<_> = self.bundle.certificates.keys().copied().collect();
        let (needed, trusted) = (ring.bundle(), ring.trusted());
        let missing = needed.difference(&found).map(|id| format!("{name}: CA {id} is missing"));
        let extra = found.difference(&trusted).map(|id| format!("{name}: CA {id} is not of the ring"));
        let mut differences: Vec<_> = missing.chain(extra).collect();
        if differences.is_empty() && !self.bundle.is_canonical {
            differences.push(format!("{name}: the right CAs, written in another way"));
        }
        differences
    }

    fn report(self) -> EntryReport {
        let authorities = self.bundle.certificates.keys().map(ToString::to_string).collect();
        EntryReport { name: self.name, target: self.target, authorities }
    }
}

/// The field manager that last wrote a `caBundle`.
fn writer(object: &DynamicObject) -> Option<String> {
    let wrote = |entry: &&ManagedFieldsEntry| {
        entry.fields_v1.as_ref().is_some_and(|fields| has_key(&fields.0, "f:caBundle"))
    };
    let entries = object.metadata.managed_fields.iter().flatten().filter(wrote);
    let last = entries.max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?;
    last.manager.clone()
}

fn has_key(value: &Value, key: &str) -> bool {
    value
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(name, value)| name == key || has_key(value, key)))
}
