//! The interface to observe decisions.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::ObjectReference;
use vestibule::admission::Request;
use vestibule::patch::View;
use vestibule_rules::{Decision, Resource, Settings};

/// Is called with every decision before the answer is sent: for explanations, metrics and Events. It must not block.
///
/// A decision holds operations, which may hold secrets: pass on names and reasons only.
pub trait DecisionObserver: Send + Sync + 'static {
    /// Reports the decision of one call. Its verdicts are those that the hook reports: on its own rules, and on rules of the
    /// other hook that it applied. Each verdict is reported by one hook, and again when the API server calls that hook again.
    fn decided(&self, decision: &Decision, context: &DecisionContext<'_>);
}

/// No observer.
impl DecisionObserver for () {
    fn decided(&self, _: &Decision, _: &DecisionContext<'_>) {}
}

/// The request and the settings of a decision. It gives names and no other values of the object.
#[derive(Clone, Copy)]
pub struct DecisionContext<'a> {
    request: &'a Request<'a>,
    resource: Resource,
    settings: &'a Settings,
}

impl<'a> DecisionContext<'a> {
    pub(crate) fn new(request: &'a Request<'a>, resource: Resource, settings: &'a Settings) -> Self {
        Self { request, resource, settings }
    }

    /// The resource of the object.
    pub fn resource(&self) -> Resource {
        self.resource
    }

    /// The namespace of the request.
    pub fn namespace(&self) -> &'a str {
        self.request.namespace.as_deref().unwrap_or_default()
    }

    /// The object's name; `web-*****` where the API server generates it.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        self.request.display_name()
    }

    /// Whether the request is a dry run, of which no Event may be written.
    pub fn dry_run(&self) -> bool {
        self.request.dry_run
    }

    /// The InjectorSettings in force.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// The controller that the object names as its owner, else the object itself if it is stored already.
    pub fn owner(&self) -> Option<ObjectReference> {
        let metadata = View::of(self.request.object?).get("metadata")?;
        let owners = metadata.get("ownerReferences").map(View::items).unwrap_or_default();
        let controls = |owner: &View<'_>| owner.get("controller").and_then(View::as_bool) == Some(true);
        let controller = owners.into_iter().find(controls);
        let text = |view: View<'_>, key: &str| Some(view.get(key)?.as_str()?.into_owned());
        let (api_version, kind) = match controller {
            Some(owner) => (text(owner, "apiVersion")?, text(owner, "kind")?),
            None => (self.resource.api_version().to_owned(), self.resource.kind().to_owned()),
        };
        let named = controller.unwrap_or(metadata);
        Some(ObjectReference {
            api_version: Some(api_version),
            kind: Some(kind),
            namespace: Some(self.namespace().to_owned()),
            name: Some(text(named, "name")?),
            uid: Some(text(named, "uid")?),
            ..ObjectReference::default()
        })
    }
}
