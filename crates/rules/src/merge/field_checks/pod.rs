//! The pod and its containers, as the checks read them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use vestibule_patch::View;

use crate::merge::contains::present;
use crate::pod::CONTAINER_LISTS;
use crate::subject::{Layout, is_native_sidecar, string_member};

pub(super) struct Pod<'d> {
    pub(super) metadata: Option<View<'d>>,
    pub(super) spec: View<'d>,
    /// See [`Layout::completes`].
    pub(super) completes: Option<bool>,
    pub(super) lookups: Lookups<'d>,
}

/// Maps of long lists, made once: checks look into them for each container, and a user may make any list of a pod long.
#[derive(Default)]
pub(super) struct Lookups<'d> {
    pub(super) containers: OnceCell<HashMap<(bool, Cow<'d, str>), Container<'d>>>,
    pub(super) annotations: OnceCell<HashMap<Cow<'d, str>, View<'d>>>,
    pub(super) claims: OnceCell<HashSet<Cow<'d, str>>>,
    /// The `emptyDir` volumes.
    pub(super) directories: OnceCell<HashSet<Cow<'d, str>>>,
    /// The volumes that cannot be devices.
    pub(super) file_systems: OnceCell<HashSet<Cow<'d, str>>>,
}

#[derive(Clone, Copy)]
pub(super) struct Container<'d> {
    pub(super) view: View<'d>,
    pub(super) is_init: bool,
}

impl<'d> Pod<'d> {
    pub(super) fn of(object: View<'d>, layout: &Layout) -> Option<Self> {
        let at = |pointer| object.pointer(pointer).filter(|found| !found.is_null());
        let (metadata, spec) = (at(&layout.metadata), at(&layout.spec)?);
        Some(Self { metadata, spec, completes: layout.completes, lookups: Lookups::default() })
    }

    /// Its containers without ephemeral ones, which a new pod does not have.
    pub(super) fn containers(&self) -> impl Iterator<Item = Container<'d>> + use<'d> {
        let spec = self.spec;
        CONTAINER_LISTS.into_iter().flat_map(move |list| {
            items(spec, list).map(move |view| Container { view, is_init: list == "initContainers" })
        })
    }

    /// The container with the list and the name of `container`.
    pub(super) fn same(&self, container: Container<'_>) -> Option<Container<'d>> {
        let named = |container: Container<'d>| Some(((container.is_init, container.name()?), container));
        let containers =
            self.lookups.containers.get_or_init(|| self.containers().filter_map(named).collect());
        containers.get(&(container.is_init, container.name()?)).copied()
    }

    /// Whether the field `name` is true.
    pub(super) fn is(&self, name: &str) -> bool {
        flag(self.spec, name) == Some(true)
    }

    pub(super) fn annotations(&self) -> &HashMap<Cow<'d, str>, View<'d>> {
        self.lookups.annotations.get_or_init(|| {
            let annotations = self.metadata.and_then(|metadata| present(metadata, "annotations"));
            annotations.map(View::entries).unwrap_or_default().into_iter().collect()
        })
    }
}

impl<'d> Container<'d> {
    pub(super) fn name(self) -> Option<Cow<'d, str>> {
        string_member(self.view, "name")
    }

    pub(super) fn security(self, field: &str) -> Option<View<'d>> {
        present(present(self.view, "securityContext")?, field)
    }

    pub(super) fn items(self, list: &str) -> impl Iterator<Item = View<'d>> + use<'d> {
        items(self.view, list)
    }

    /// Whether it ends before the containers of the pod start.
    pub(super) fn ends(self) -> bool {
        self.is_init && !is_native_sidecar(self.view)
    }
}

pub(super) fn flag(object: View<'_>, name: &str) -> Option<bool> {
    present(object, name).and_then(View::as_bool)
}

pub(super) fn is_text(object: View<'_>, name: &str, text: &str) -> bool {
    string_member(object, name).as_deref() == Some(text)
}

pub(super) fn names_of<'d>(all: impl Iterator<Item = View<'d>>) -> HashSet<Cow<'d, str>> {
    all.filter_map(|one| string_member(one, "name")).collect()
}

/// The items of the list `name` of `object`.
pub(super) fn items<'d>(object: View<'d>, name: &str) -> impl Iterator<Item = View<'d>> + use<'d> {
    present(object, name).into_iter().flat_map(View::iter)
}
