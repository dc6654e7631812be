//! The names of a kind.

use std::any::TypeId;

use k8s_openapi::NamespaceResourceScope;

use super::looked_up::LookedUp;

/// The names of a kind, for people and for the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The name in errors, `/readyz` and metrics: `Pod`, `Widget.example.com`, `Pod metadata`.
    pub(super) title: String,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) resource: String,
    pub(super) is_namespaced: bool,
}

impl Kind {
    pub(super) fn of<T: LookedUp>() -> Self {
        let (group, kind) = (T::group(&()).into_owned(), T::kind(&()).into_owned());
        let own = !group.contains('.') || group.ends_with(".k8s.io");
        let title = if own { kind.clone() } else { format!("{kind}.{group}") };
        Self {
            title: if T::metadata_api() { format!("{title} metadata") } else { title },
            group,
            kind,
            resource: T::plural(&()).into_owned(),
            is_namespaced: TypeId::of::<T::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        }
    }

    /// `Pod shop/web`
    pub(super) fn object(&self, namespace: &str, name: &str) -> String {
        let title = &self.title;
        if namespace.is_empty() { format!("{title} {name}") } else { format!("{title} {namespace}/{name}") }
    }
}
