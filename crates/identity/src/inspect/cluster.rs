//! Reads from a cluster, with errors that name the missing right.

use std::fmt;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, Error};
use serde_json::Value;
use vestibule_pki::ring::Lineage;

use crate::causes::with_causes;
use crate::registration::LINEAGE;
use crate::{NamespacedName, RegistrationKind, RegistrationName};

const KINDS: [RegistrationKind; 4] = [
    RegistrationKind::Mutating,
    RegistrationKind::Validating,
    RegistrationKind::CustomResource,
    RegistrationKind::ApiService,
];

/// The reason why a read or write on the cluster failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// A right is missing.
    #[error("may not {action}: grant `{right}` ({answer})")]
    Forbidden {
        /// The attempted action.
        action: String,
        /// The right that RBAC must grant: `get secrets/NAME in namespace NS`.
        right: String,
        /// The API server's words.
        answer: String,
    },
    /// The API server gave no answer.
    #[error("cannot {action}: the cluster cannot be reached: {reason}")]
    Unreachable {
        /// The attempted action.
        action: String,
        /// The reason.
        reason: String,
    },
    /// Another answer.
    #[error("cannot {action}: {answer}")]
    Refused {
        /// The attempted action.
        action: String,
        /// The API server's words.
        answer: String,
    },
    /// The Secret holds no ring.
    #[error("there is no ring in Secret {0}: nothing to rotate or revoke")]
    NoRing(NamespacedName),
    /// Others wrote the Secret again and again.
    #[error("Secret {0} changed each time that it was to be written; try again")]
    Contended(NamespacedName),
}

/// The reads and writes of this module.
pub(crate) struct Cluster(Client);

impl Cluster {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    pub(crate) async fn secret(&self, name: &NamespacedName) -> Result<Option<Secret>, InspectError> {
        let found = self.secrets(name).get_opt(&name.name).await;
        found.map_err(failed(format!("read Secret {name}"), secret_right("get", name)))
    }

    /// A merge patch; `None` if the Secret is another by now.
    pub(crate) async fn patch_secret(
        &self,
        name: &NamespacedName,
        patch: &Value,
    ) -> Result<Option<Secret>, InspectError> {
        let parameters =
            PatchParams { field_manager: Some("vestibule-cli".to_owned()), ..PatchParams::default() };
        match self.secrets(name).patch(&name.name, &parameters, &Patch::Merge(patch)).await {
            Err(Error::Api(status)) if status.is_conflict() => Ok(None),
            patched => patched
                .map(Some)
                .map_err(failed(format!("annotate Secret {name}"), secret_right("patch", name))),
        }
    }

    pub(super) async fn registration(
        &self,
        name: &RegistrationName,
    ) -> Result<Option<DynamicObject>, InspectError> {
        let (resource, api) = self.registrations(name.kind);
        let right = format!("get {}.{}/{}", resource.plural, resource.group, name.name);
        api.get_opt(&name.name).await.map_err(failed(format!("read {name}"), right))
    }

    /// The configurations that replicas of this ring have written.
    pub(super) async fn marked(
        &self,
        lineage: Lineage,
        notes: &mut Vec<String>,
    ) -> Result<Vec<RegistrationName>, InspectError> {
        let lineage = format!("{:016x}", lineage.0);
        let mut names = Vec::new();
        for kind in KINDS {
            let (resource, api) = self.registrations(kind);
            let right = format!("list {}.{}", resource.plural, resource.group);
            let listed = api.list_metadata(&ListParams::default()).await;
            match listed.map_err(failed(format!("look for a {}", resource.kind), right)) {
                Ok(list) => names.extend(list.items.into_iter().filter_map(|object| {
                    let found = object.metadata.annotations.as_ref()?.get(LINEAGE)?;
                    let name = object.metadata.name.clone()?;
                    (*found == lineage).then_some(RegistrationName { kind, name })
                })),
                Err(error @ InspectError::Unreachable { .. }) => return Err(error),
                Err(error) => notes.push(format!("{error}; or name it with --registration")),
            }
        }
        Ok(names)
    }

    fn secrets(&self, name: &NamespacedName) -> Api<Secret> {
        Api::namespaced(self.0.clone(), &name.namespace)
    }

    fn registrations(&self, kind: RegistrationKind) -> (ApiResource, Api<DynamicObject>) {
        let resource = kind.resource();
        let api = Api::all_with(self.0.clone(), &resource);
        (resource, api)
    }
}

fn secret_right(verb: &str, name: &NamespacedName) -> String {
    format!("{verb} secrets/{} in namespace {}", name.name, name.namespace)
}

fn failed(action: impl fmt::Display, right: String) -> impl FnOnce(Error) -> InspectError {
    let action = action.to_string();
    move |error| match error {
        Error::Api(status) if status.is_forbidden() => {
            InspectError::Forbidden { action, right, answer: status.message.clone() }
        }
        Error::Api(status) if status.code == 401 => InspectError::Refused {
            action,
            answer: "the API server does not know who asks (401): the kubeconfig's credentials are not valid"
                .to_owned(),
        },
        Error::Api(status) => InspectError::Refused { action, answer: status.message.clone() },
        Error::SerdeError(_) => {
            InspectError::Refused { action, answer: "the API server's answer cannot be read".to_owned() }
        }
        other => InspectError::Unreachable { action, reason: with_causes(&other) },
    }
}
