//! Objects that stand in for a cluster's.

use serde::Serialize;
use serde_json::Value;

use super::LookedUp;
use super::kind::Kind;

/// Objects that lookups find without a cluster, for tests: as if every watch had seen them.
///
/// They are typed ones, or any JSON with `apiVersion` and `kind`, and kept as an API server would send them: a `Pod` is found
/// by an app that watches `PartialObjectMeta<Pod>` too.
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
    held: Vec<Held>,
    unsynced: Vec<String>,
}

#[derive(Clone)]
struct Held {
    object: Value,
    is_seen: bool,
}

impl Objects {
    /// A cluster with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// One object more.
    pub fn with(self, object: impl Serialize) -> Self {
        self.hold(&object, true)
    }

    /// An object made a moment ago: live reads find it, watches have yet to see it.
    pub fn with_unseen(self, object: impl Serialize) -> Self {
        self.hold(&object, false)
    }

    /// The first list of `T` is never read: what asks for it in memory is told to come again.
    pub fn unsynced<T: LookedUp>(mut self) -> Self {
        self.unsynced.push(Kind::of::<T>().title);
        self
    }

    pub(super) fn is_synced(&self, kind: &Kind) -> bool {
        !self.unsynced.contains(&kind.title)
    }

    /// What there is of `T`, and whether a watch has seen it.
    pub(super) fn of<T: LookedUp>(&self, kind: &Kind) -> Result<Vec<(T, bool)>, String> {
        let mut found = Vec::new();
        for Held { object, is_seen } in &self.held {
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

    fn hold(mut self, object: &impl Serialize, is_seen: bool) -> Self {
        // What cannot be written has no kind either: told when it is asked for.
        let object = serde_json::to_value(object).unwrap_or_default();
        self.held.push(Held { object, is_seen });
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
