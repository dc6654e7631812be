//! Objects for lookups in tests, without a cluster.

use serde::Serialize;
use serde_json::Value;

use super::kind::Kind;
use super::looked_up::LookedUp;

/// Objects that lookups find in tests without a cluster, as if every watch had seen them.
///
/// An object is typed, or any JSON with `apiVersion` and `kind`. An app that watches `PartialObjectMeta<Pod>` finds a `Pod` too.
///
/// ```
/// use serde_json::json;
/// use vestibule::Objects;
///
/// let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}});
/// let objects = Objects::new().with(class);
/// # let _ = objects;
/// ```
#[derive(Clone, Default)]
#[must_use = "hand them to `App::lookups_from`"]
pub struct Objects {
    objects: Vec<TestObject>,
    unsynced: Vec<String>,
}

#[derive(Clone)]
struct TestObject {
    object: Value,
    is_seen: bool,
}

impl Objects {
    /// No objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object.
    pub fn with(self, object: impl Serialize) -> Self {
        self.add(&object, true)
    }

    /// Adds an object that the watch has not seen yet: only reads from the API server find it.
    pub fn with_unseen(self, object: impl Serialize) -> Self {
        self.add(&object, false)
    }

    /// The first list of `T` is never read: lookups in memory fail with [`LookupError::NotSynced`](crate::LookupError::NotSynced).
    pub fn unsynced<T: LookedUp>(mut self) -> Self {
        self.unsynced.push(Kind::of::<T>().title);
        self
    }

    pub(super) fn is_synced(&self, kind: &Kind) -> bool {
        !self.unsynced.contains(&kind.title)
    }

    /// The objects of type `T`, and whether the watch has seen them.
    pub(super) fn of<T: LookedUp>(&self, kind: &Kind) -> Result<Vec<(T, bool)>, String> {
        let mut found = Vec::new();
        for TestObject { object, is_seen } in &self.objects {
            let (Some(version), Some(its_kind)) = (object["apiVersion"].as_str(), object["kind"].as_str())
            else {
                return Err("an object to look up has no `apiVersion` or no `kind`".to_owned());
            };
            let group = version.split_once('/').map_or("", |(group, _)| group);
            if (group, its_kind) == (&*kind.group, &*kind.kind) {
                found.push((decoded(kind, object)?, *is_seen));
            }
        }
        Ok(found)
    }

    fn add(mut self, object: &impl Serialize, is_seen: bool) -> Self {
        // An object that cannot be serialized becomes null, which has no kind: `Objects::of` reports it.
        let object = serde_json::to_value(object).unwrap_or_default();
        self.objects.push(TestObject { object, is_seen });
        self
    }
}

fn decoded<T: LookedUp>(kind: &Kind, object: &Value) -> Result<T, String> {
    let title = &kind.title;
    let decoded = T::deserialize(object);
    let object = decoded.map_err(|error| format!("an object does not fit {title}: {error}"))?;
    match (&object.meta().name, &object.meta().namespace) {
        (None, _) => Err(format!("a {title} to look up has no name")),
        (Some(name), None) if kind.is_namespaced => Err(format!("the {title} {name} needs a namespace")),
        (Some(name), Some(_)) if !kind.is_namespaced => {
            Err(format!("the {title} {name} cannot be in a namespace"))
        }
        _ => Ok(object),
    }
}
