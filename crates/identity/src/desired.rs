//! The entries that a registered object should hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use vestibule_pki::ring::Request;

use crate::{RegistrationKind, RegistrationName};

/// The annotation with the [`Owner`] of the entries.
pub(crate) const ENTRIES: &str = "vestibule.dev/entries";

/// The version of the program that wrote the entries of an object last.
pub(crate) struct Owner {
    /// The hash of its desired entries.
    pub(crate) hash: String,
    /// The names of the entries it wrote.
    pub(crate) names: Vec<String>,
}

impl Owner {
    /// The owner that the annotations of an object name.
    pub(crate) fn of(annotations: Option<&BTreeMap<String, String>>) -> Option<Self> {
        let mut words = annotations?.get(ENTRIES)?.split_whitespace().map(ToOwned::to_owned);
        Some(Self { hash: words.next()?, names: words.collect() })
    }
}

/// The entries that one version of a program wants in a registered object: the registration mode `managed`. The object is
/// installed without entries; [`SelfManaged`](crate::SelfManaged) writes them together with the `caBundle` after the server
/// called [`serving`](crate::Identity::serving).
///
/// ```
/// use serde_json::json;
/// use vestibule_identity::Desired;
///
/// let entry = json!({
///     "name": "label.hooks.example.com",
///     "clientConfig": { "service": { "namespace": "demo", "name": "hooks", "path": "/label" } },
///     "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] }],
///     "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
/// });
/// let desired = Desired::new("mutating/hooks".parse()?, vec![entry])?;
/// assert_eq!(desired.names().collect::<Vec<_>>(), ["label.hooks.example.com"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    registration: RegistrationName,
    entries: Vec<Value>,
    /// A digest that differs between versions of the entries.
    pub(crate) hash: String,
}

/// Changes the desired entries of registered objects while an identity runs. Clones share one value.
///
/// ```
/// use vestibule_identity::{Desired, DesiredUpdates, Settings};
///
/// let updates = DesiredUpdates::default();
/// let mut settings = Settings::for_service("demo/hooks".parse()?);
/// settings.registrations = vec!["mutating/hooks".parse()?];
/// settings.updates = Some(updates.clone());
/// // Then or later: nothing is to be called any more.
/// updates.send(vec![Desired::new("mutating/hooks".parse()?, Vec::new())?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct DesiredUpdates(pub(crate) Arc<watch::Sender<Option<Vec<Desired>>>>);

impl DesiredUpdates {
    /// Sets the desired entries, as [`Settings::desired`](crate::Settings::desired) says it at the start.
    /// Objects that the settings do not name are ignored, and so are entries for an object that is not among their registrations.
    ///
    /// The entries that this process wrote are its own to change: they are written within a moment. Those of
    /// another version of the program are taken over only when no replica of it objects.
    pub fn send(&self, desired: Vec<Desired>) {
        self.0.send_replace(Some(desired));
    }

    /// The last value; [`None`] before the first.
    #[must_use]
    pub fn latest(&self) -> Option<Vec<Desired>> {
        self.0.borrow().clone()
    }

    /// Whether this is the last clone and no identity follows it: an update has no receiver any more.
    ///
    /// ```
    /// use vestibule_identity::DesiredUpdates;
    ///
    /// let updates = DesiredUpdates::default();
    /// let of_settings = updates.clone();
    /// assert!(!updates.is_closed());
    /// drop(of_settings);
    /// assert!(updates.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // Clones before receivers: a receiver is made of a clone, which is dropped after that.
        Arc::strong_count(&self.0) == 1 && self.0.receiver_count() == 0
    }
}

/// The reason why an object cannot hold these entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DesiredError(String);

impl Desired {
    /// For a webhook configuration: its `webhooks`, without `caBundle`. An empty list removes the entries that an
    /// earlier version of the program wrote. For a CustomResourceDefinition: its `spec.conversion`, alone.
    ///
    /// # Errors
    /// An entry that no such object can hold.
    pub fn new(registration: RegistrationName, entries: Vec<Value>) -> Result<Self, DesiredError> {
        match registration.kind {
            RegistrationKind::Mutating | RegistrationKind::Validating => check_list(&registration, &entries)?,
            RegistrationKind::CustomResource => {
                let config = |entry: &Value| is_config(entry.pointer("/webhook/clientConfig"));
                if entries.len() != 1 || !entries.iter().all(config) {
                    return Err(DesiredError(format!(
                        "{registration} takes one `conversion` with `webhook.clientConfig`, without a `caBundle`"
                    )));
                }
            }
            RegistrationKind::ApiService => {
                return Err(DesiredError(format!("{registration} has no entries that could be written")));
            }
        }
        let text = Value::from(entries.clone()).to_string();
        let hash = format!("{:016x}", Request::digest(Some(&text)));
        Ok(Self { registration, entries, hash })
    }

    /// The object.
    #[must_use]
    pub fn registration(&self) -> &RegistrationName {
        &self.registration
    }

    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &[Value] {
        &self.entries
    }

    /// Whether these are the entries that were written last to the object with these annotations. [`None`] if no annotation tells: an
    /// admission policy may remove it.
    #[must_use]
    pub fn were_written(&self, annotations: Option<&BTreeMap<String, String>>) -> Option<bool> {
        Owner::of(annotations).map(|owner| owner.hash == self.hash)
    }

    /// The names of the entries; a `conversion` has none.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(name_of)
    }
}

pub(crate) fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name")?.as_str()
}

fn check_list(registration: &RegistrationName, entries: &[Value]) -> Result<(), DesiredError> {
    let mut names = std::collections::BTreeSet::new();
    for (position, entry) in entries.iter().enumerate() {
        let name = name_of(entry).filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
        let Some(name) = name.filter(|_| is_config(entry.get("clientConfig"))) else {
            return Err(DesiredError(format!(
                "entry {position} of {registration} needs `name` and `clientConfig`, without a `caBundle`"
            )));
        };
        if !names.insert(name) {
            return Err(DesiredError(format!(
                "{registration} would hold two entries with the name `{name}`"
            )));
        }
    }
    Ok(())
}

fn is_config(config: Option<&Value>) -> bool {
    config.is_some_and(|config| config.is_object() && config.get("caBundle").is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn desired(name: &str, entries: Value) -> Result<Desired, String> {
        let Value::Array(entries) = entries else { panic!("a list") };
        Desired::new(name.parse().unwrap(), entries).map_err(|error| error.to_string())
    }

    #[test]
    fn entries_that_no_object_can_hold_are_refused() {
        let entry = json!({ "name": "a", "clientConfig": {} });
        assert!(desired("mutating/x", json!([])).is_ok());
        assert!(
            desired("mutating/x", json!([{ "name": "a" }])).unwrap_err().contains("entry 0 of mutating/x")
        );
        assert!(
            desired("validating/x", json!([entry, { "clientConfig": {} }])).unwrap_err().contains("entry 1")
        );
        let bundled = json!([{ "name": "a", "clientConfig": { "caBundle": "" } }]);
        assert!(desired("mutating/x", bundled).is_err());
        assert!(desired("mutating/x", json!([entry, entry])).unwrap_err().contains("`a`"));
        assert!(desired("crd/x", json!([])).is_err());
        assert!(desired("crd/x", json!([{ "webhook": { "clientConfig": {} } }])).is_ok());
        assert!(desired("apiservice/x", json!([])).is_err());
    }

    #[test]
    fn updates_are_closed_when_the_last_identity_has_gone() {
        let updates = DesiredUpdates::default();
        let of_settings = updates.clone();
        let of_identity = of_settings.0.subscribe();
        drop(of_settings);
        assert!(!updates.is_closed(), "an identity follows");
        drop(of_identity);
        assert!(updates.is_closed());
    }

    #[test]
    fn another_version_has_another_hash() {
        let hash = |timeout: u8| {
            let entry = json!({ "name": "a", "clientConfig": {}, "timeoutSeconds": timeout });
            desired("mutating/x", json!([entry])).unwrap().hash
        };
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
        assert_eq!(hash(1).len(), 16);
    }

    #[test]
    fn the_annotation_tells_whether_the_entries_were_written() {
        let desired = desired("mutating/x", json!([{ "name": "a", "clientConfig": {} }])).unwrap();
        let written =
            |text: &str| desired.were_written(Some(&BTreeMap::from([(ENTRIES.to_owned(), text.to_owned())])));
        assert_eq!(written(&format!("{} a", desired.hash)), Some(true));
        assert_eq!(written("0123456789abcdef a"), Some(false));
        assert_eq!((written(""), desired.were_written(None)), (None, None));
    }
}
