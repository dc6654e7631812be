//! Who learns of decisions.

use std::borrow::Cow;

use vestibule::Request;
use vestibule::patch::View;
use vestibule_rules::{Decision, Resource, Settings};

/// Learns of every decision, before it is sent: for explanations and for counting. It must not take long.
///
/// A decision holds the operations, and they may hold secrets: pass on names and reasons only.
pub trait Observer: Send + Sync + 'static {
    /// The rules have decided about what was asked. Of the verdicts there are those that the hook tells of: on its own rules,
    /// and on others where it acted by them. Each verdict is heard by one hook only, but again when that is called again.
    fn decided(&self, decision: &Decision, asked: &Asked<'_>);
}

/// Nobody.
impl Observer for () {
    fn decided(&self, _: &Decision, _: &Asked<'_>) {}
}

/// What the rules have decided about: names, and nothing else of the object.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    request: &'a Request<'a>,
    resource: Resource,
    settings: &'a Settings,
}

/// A workload, as the objects it owns name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// `apps/v1`
    pub api_version: String,
    /// `ReplicaSet`
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What tells it from others of its name.
    pub uid: String,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(request: &'a Request<'a>, resource: Resource, settings: &'a Settings) -> Self {
        Self { request, resource, settings }
    }

    /// What the object is.
    pub fn resource(&self) -> Resource {
        self.resource
    }

    /// The namespace of the request.
    pub fn namespace(&self) -> &'a str {
        self.request.namespace.as_deref().unwrap_or_default()
    }

    /// The object's name; `web-*****` where the API server is to make one up.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        self.request.display_name()
    }

    /// Whether nothing will be stored: then nothing may be left behind that tells of it.
    pub fn dry_run(&self) -> bool {
        self.request.dry_run
    }

    /// What held for all rules.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// The controller that the object names as its owner, or else the object itself if the cluster has it already.
    pub fn owner(&self) -> Option<Owner> {
        let metadata = View::of(self.request.object?).get("metadata")?;
        let owners = metadata.get("ownerReferences").map(View::items).unwrap_or_default();
        let controls = |owner: &View<'_>| owner.get("controller").and_then(View::as_bool) == Some(true);
        if let Some(owner) = owners.into_iter().find(controls) {
            let part = |name: &str| Some(owner.get(name)?.as_str()?.into_owned());
            let (api_version, kind) = (part("apiVersion")?, part("kind")?);
            return Some(Owner { api_version, kind, name: part("name")?, uid: part("uid")? });
        }
        let uid = metadata.get("uid")?.as_str()?.into_owned();
        let name = metadata.get("name")?.as_str()?.into_owned();
        let (api_version, kind) = (self.resource.api_version().to_owned(), self.resource.kind().to_owned());
        Some(Owner { api_version, kind, name, uid })
    }
}
