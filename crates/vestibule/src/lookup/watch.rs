//! The declaration of a watch.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::runtime::watcher::{Config, InitialListStrategy};

use super::looked_up::LookedUp;
use super::store::IndexKeys;

/// The objects of a type that an app keeps in memory, and the fields that it keeps. For [`App::watch`](crate::App::watch).
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Watch;
///
/// let watch = Watch::<Pod>::new()
///     .fields("status.phase!=Succeeded")
///     .slim(|pod| pod.status = None)
///     .index("by-node", |pod| pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect());
/// # let _ = watch;
/// ```
///
/// If names, labels and annotations are enough, `Watch::<PartialObjectMeta<Pod>>` makes the API server send only metadata.
#[must_use = "hand it to `App::watch`"]
pub struct Watch<T> {
    pub(super) namespace: Option<String>,
    pub(super) selection: Config,
    pub(super) slim: Slim<T>,
    pub(super) indices: BTreeMap<String, IndexKeys<T>>,
}

/// Removes `managedFields`, and fields that no handler reads.
pub(super) type Slim<T> = Arc<dyn Fn(&mut T) + Send + Sync>;

impl<T: LookedUp> Watch<T> {
    /// Every object of the type, in all namespaces.
    pub fn new() -> Self {
        Self {
            namespace: None,
            selection: vestibule_identity::short_watch(),
            slim: Arc::new(drop_managed_fields),
            indices: BTreeMap::new(),
        }
    }

    /// Only objects in `namespace`; the RBAC rule is limited to it.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only objects with these labels, in the syntax of kubectl: `app=web,tier in (a,b)`. [`Lookup::get`](crate::Lookup::get) finds
    /// other objects too, because it reads from the API server by name.
    pub fn labels(mut self, labels: impl Into<String>) -> Self {
        self.selection.label_selector = Some(labels.into());
        self
    }

    /// Only objects with these fields, in the syntax of kubectl: `status.phase=Running`. The API server decides which fields a kind
    /// supports.
    pub fn fields(mut self, fields: impl Into<String>) -> Self {
        self.selection.field_selector = Some(fields.into());
        self
    }

    /// Calls `slim` on each object before it is kept or given to a handler, to remove fields that no handler reads. It must not
    /// change the name and the namespace. `metadata.managedFields`, a large part of most objects, is always removed.
    pub fn slim(mut self, slim: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.slim = Arc::new(move |object| {
            drop_managed_fields(object);
            slim(object);
        });
        self
    }

    /// Adds an index: [`Lookup::by_index`](crate::Lookup::by_index) finds objects by the keys that `keys` returns for them.
    pub fn index(
        mut self,
        name: impl Into<String>,
        keys: impl Fn(&T) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.indices.insert(name.into(), Arc::new(keys));
        self
    }

    /// Makes the API server stream the first list as watch events, which costs it less memory
    /// ([streaming lists](https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists), Kubernetes 1.34 and
    /// later, unless switched off). If it does not support that, a plain list is read. Off, unless set.
    pub fn streaming_lists(mut self, streaming: bool) -> Self {
        self.selection.initial_list_strategy =
            if streaming { InitialListStrategy::StreamingList } else { InitialListStrategy::ListWatch };
        self
    }
}

impl<T: LookedUp> Default for Watch<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Watch<T> {
    fn clone(&self) -> Self {
        Self {
            namespace: self.namespace.clone(),
            selection: self.selection.clone(),
            slim: Arc::clone(&self.slim),
            indices: self.indices.clone(),
        }
    }
}

/// Managed fields are a large part of most objects, and no handler needs them.
pub(super) fn drop_managed_fields<T: LookedUp>(object: &mut T) {
    object.meta_mut().managed_fields = None;
}
