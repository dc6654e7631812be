//! A ring and its bundles as they are on the cluster, without keys and certificates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::DynamicObject;
use serde_json::Value;
use vestibule_identity::inspect::{GENERATION, LINEAGE, Place};
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName};
use vestibule_pki::ring::{CaId, Facts, Reading, Ring, RingFacts};
use vestibule_pki::{Bundle, describe};

use crate::certs::objects::{ObjectError, Objects};

/// The objects to read.
pub(in crate::certs) struct Selection {
    /// The ring's Secret.
    pub(in crate::certs) secret: NamespacedName,
    /// Only entries that call this Service are compared; without it, all entries.
    pub(in crate::certs) service: Option<NamespacedName>,
    /// The configurations. Without any, the configurations with the ring's annotations are listed.
    pub(in crate::certs) registrations: Vec<RegistrationName>,
}

/// The content of the objects.
#[derive(Debug)]
pub(in crate::certs) struct RingReport {
    /// The Secret that was read.
    pub(super) secret: NamespacedName,
    /// Its content.
    pub(in crate::certs) ring: RingFacts,
    /// Why the Secret cannot be used: which field is wrong, and how.
    pub(super) problem: Option<String>,
    /// The subject of each CA of the ring.
    pub(super) subjects: BTreeMap<CaId, String>,
    /// The ring's `caBundle`, in PEM; empty without a ring.
    pub(super) bundle: String,
    /// Each configuration.
    pub(in crate::certs) registrations: Vec<RegistrationReport>,
    /// Objects that could not be read, with the missing right.
    pub(in crate::certs) notes: Vec<String>,
}

/// One configuration.
#[derive(Debug)]
pub(in crate::certs) struct RegistrationReport {
    pub(in crate::certs) name: RegistrationName,
    /// The entries with a `caBundle`.
    pub(in crate::certs) entries: Vec<EntryReport>,
    /// The generation that its annotation names.
    pub(super) generation: Option<u64>,
    /// The field manager that last wrote a `caBundle`.
    pub(in crate::certs) written_by: Option<String>,
    /// The differences from the ring; empty when in sync.
    pub(in crate::certs) differences: Vec<String>,
}

/// One `caBundle`.
#[derive(Debug)]
pub(in crate::certs) struct EntryReport {
    /// The hook's name, or where in the object it is.
    pub(super) name: String,
    /// The Service (`NS/NAME`) or URL that is called.
    pub(super) target: String,
    /// The CAs of the bundle, by id.
    pub(in crate::certs) authorities: Vec<String>,
}

impl RingReport {
    /// Reads the Secret and the configurations. Needs `get` on each, and `list` if the configurations are not named.
    pub(in crate::certs) async fn read(
        selection: &Selection,
        objects: &Objects,
        now: SystemTime,
    ) -> Result<Self, ObjectError> {
        let Selection { secret, service, registrations: named } = selection;
        let reading = objects.ring(secret, now).await?.map_or(Reading::Absent, |(_, reading)| reading);
        let ring = reading.facts();
        let (names, notes) = match (named.is_empty(), ring.facts()) {
            (true, Some(facts)) => objects.marked(facts.lineage).await?,
            _ => (named.clone(), Vec::new()),
        };
        let mut registrations = Vec::new();
        for name in names {
            let object = objects.registration(&name).await?;
            registrations.push(RegistrationReport::new(
                name,
                object.as_ref(),
                service.as_ref(),
                ring.facts(),
            ));
        }
        let problem = match &reading {
            Reading::Unreadable(error) => Some(error.to_string()),
            _ => None,
        };
        let subject = |id| {
            let facts = reading.ring().and_then(|ring| describe(ring.certificate(id)?));
            (id, facts.map(|facts| facts.subject).unwrap_or_default())
        };
        let subjects =
            ring.facts().map(Facts::trusted).unwrap_or_default().into_iter().map(subject).collect();
        let bundle = reading.ring().map(Ring::bundle_pem).unwrap_or_default();
        Ok(Self { secret: secret.clone(), ring, problem, subjects, bundle, registrations, notes })
    }

    /// Whether there is a ring and every configuration holds its bundle.
    pub(in crate::certs) fn is_in_sync(&self) -> bool {
        let differs = |registration: &RegistrationReport| !registration.differences.is_empty();
        self.ring.facts().is_some() && !self.registrations.iter().any(differs)
    }
}

impl RegistrationReport {
    fn new(
        name: RegistrationName,
        object: Option<&DynamicObject>,
        service: Option<&NamespacedName>,
        ring: Option<&Facts>,
    ) -> Self {
        let mut report =
            Self { name, entries: Vec::new(), generation: None, written_by: None, differences: Vec::new() };
        let Some(object) = object else {
            report.differences.push("it does not exist".to_owned());
            return report;
        };
        let annotation = |key| object.metadata.annotations.as_ref()?.get(key).map(String::as_str);
        report.generation = annotation(GENERATION).and_then(|text| text.parse().ok());
        report.written_by = writer(object);
        if let Some(ring) = ring {
            report.differences.extend(mark_difference(annotation(LINEAGE), report.generation, ring));
        }
        let places = report.name.kind.places(&object.data);
        for place in &places {
            let target = match place.service() {
                Some((namespace, name)) => format!("{namespace}/{name}"),
                None => place.url().unwrap_or_default().to_owned(),
            };
            if target.is_empty() || service.is_some_and(|service| target != service.to_string()) {
                continue;
            }
            report.entry(place, target, ring);
        }
        // The replicas of an injector without rules write a configuration without entries. One whose entries another program has
        // removed looks the same until the replicas repair it. A definition has an entry once it is written.
        let is_written = annotation(GENERATION).is_some();
        let may_be_empty =
            matches!(report.name.kind, RegistrationKind::Mutating | RegistrationKind::Validating)
                && places.is_empty();
        let needs_an_entry = !is_written || (service.is_some() && !may_be_empty);
        if report.entries.is_empty() && needs_an_entry {
            report.differences.push(match service {
                Some(service) => format!("no entry calls the Service {service}"),
                None => "it has no entry".to_owned(),
            });
        }
        report
    }

    fn entry(&mut self, place: &Place<'_>, target: String, ring: Option<&Facts>) {
        let name = place.name.as_ref().map_or(place.pointer.as_str(), |(_, name)| name).to_owned();
        let bundle = Bundle::read(&place.bundle());
        if let Some(ring) = ring {
            self.differences.extend(bundle_differences(&name, &bundle, ring));
        }
        let authorities = bundle.certificates.keys().map(ToString::to_string).collect();
        self.entries.push(EntryReport { name, target, authorities });
    }
}

/// The annotations are written together with the bundles.
fn mark_difference(found: Option<&str>, generation: Option<u64>, ring: &Facts) -> Option<String> {
    let Some(found) = found else {
        return Some("no replica has written it yet (no annotation)".to_owned());
    };
    if found != ring.lineage.to_string() {
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

fn bundle_differences(name: &str, bundle: &Bundle, ring: &Facts) -> Vec<String> {
    if let Some(problem) = &bundle.problem {
        return vec![format!("{name}: {problem}")];
    }
    let found: BTreeSet<_> = bundle.certificates.keys().copied().collect();
    let (needed, trusted) = (ring.bundle(), ring.trusted());
    let missing = needed.difference(&found).map(|id| format!("{name}: CA {id} is missing"));
    let extra = found.difference(&trusted).map(|id| format!("{name}: CA {id} is not of the ring"));
    let mut differences: Vec<_> = missing.chain(extra).collect();
    if differences.is_empty() && !bundle.is_canonical {
        differences.push(format!("{name}: the right CAs, written in another way"));
    }
    differences
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn differences(name: &str, object: &Value) -> Vec<String> {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let service = NamespacedName::parse_in("demo/hooks", None).unwrap();
        RegistrationReport::new(name.parse().unwrap(), Some(&object), Some(&service), None).differences
    }

    #[test]
    fn a_written_configuration_without_entries_is_in_sync() {
        let marks = json!({"name": "injector", "annotations": {GENERATION: "1", LINEAGE: "a"}});
        let entry = json!({"name": "a", "clientConfig": {"service": {"namespace": "demo", "name": "other"}}});
        let (unwritten, empty) = (json!({"metadata": {"name": "injector"}}), json!({"metadata": marks}));
        let of_another = json!({"metadata": marks, "webhooks": [entry]});
        assert_eq!(differences("mutating/injector", &empty), [""; 0]);
        // A definition loses its entry with `conversion: {strategy: None}`.
        for (name, object) in [
            ("mutating/injector", &unwritten),
            ("mutating/injector", &of_another),
            ("crd/things.example.com", &empty),
        ] {
            assert_eq!(differences(name, object), ["no entry calls the Service demo/hooks"], "{name}");
        }
    }
}
