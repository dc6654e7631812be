//! Reads and writes the objects of a ring, with errors that name the missing right.

use std::collections::BTreeMap;
use std::time::SystemTime;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, Error};
use serde_json::Value;
use vestibule::tooling::RequestError;
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName, inspect};
use vestibule_pki::ring::{Lineage, Moment, Reading, Ring};
use zeroize::Zeroizing;

/// The reason why a read or write on the cluster failed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ObjectError {
    /// A right is missing, or the credentials are not valid.
    #[error("{0}")]
    Forbidden(String),
    /// The API server gave no answer.
    #[error("{0}")]
    Unreachable(String),
    /// The API server gave another answer.
    #[error("{0}")]
    Refused(String),
    /// The Secret holds no ring.
    #[error("there is no ring in Secret {0}: nothing to rotate or revoke")]
    NoRing(NamespacedName),
    /// The Secret holds something else, or a ring that this version cannot read.
    #[error("the ring in Secret {0} cannot be used: {1}")]
    UnusableRing(NamespacedName, String),
}

/// A client for the objects of a ring.
pub(super) struct Objects(pub(super) Client);

impl Objects {
    /// The ring's Secret with its ring, if the Secret exists. The keys are erased when the ring is dropped.
    pub(super) async fn ring(
        &self,
        name: &NamespacedName,
        now: SystemTime,
    ) -> Result<Option<(Secret, Reading)>, ObjectError> {
        let found = self.secrets(name).get_opt(&name.name).await;
        let found = found.map_err(failed(format!("read Secret {name}"), secret_right("get", name)))?;
        Ok(found.map(|mut secret| {
            let data = secret.data.take().unwrap_or_default();
            let data: BTreeMap<_, _> =
                data.into_iter().map(|(field, bytes)| (field, Zeroizing::new(bytes.0))).collect();
            let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let reading = Ring::read(Some(&data), inspect::requests(&secret.metadata), Moment(now.as_secs()));
            (secret, reading)
        }))
    }

    /// Applies a merge patch to the ring's Secret. Returns whether the Secret still had the version of the patch.
    pub(super) async fn patch_secret(
        &self,
        name: &NamespacedName,
        patch: &Value,
    ) -> Result<bool, ObjectError> {
        let parameters =
            PatchParams { field_manager: Some("vestibule-cli".to_owned()), ..PatchParams::default() };
        match self.secrets(name).patch(&name.name, &parameters, &Patch::Merge(patch)).await {
            Err(Error::Api(status)) if status.is_conflict() => Ok(false),
            patched => patched
                .map(|_| true)
                .map_err(failed(format!("annotate Secret {name}"), secret_right("patch", name))),
        }
    }

    pub(super) async fn registration(
        &self,
        name: &RegistrationName,
    ) -> Result<Option<DynamicObject>, ObjectError> {
        let (resource, api) = self.registrations(name.kind);
        let right = format!("get {}.{}/{}", resource.plural, resource.group, name.name);
        api.get_opt(&name.name).await.map_err(failed(format!("read {name}"), right))
    }

    /// The configurations that replicas of this ring have written, and a note on each kind that may not be listed.
    pub(super) async fn marked(
        &self,
        lineage: Lineage,
    ) -> Result<(Vec<RegistrationName>, Vec<String>), ObjectError> {
        let lineage = lineage.to_string();
        let (mut names, mut notes) = (Vec::new(), Vec::new());
        for kind in RegistrationKind::ALL {
            let (resource, api) = self.registrations(kind);
            let right = format!("list {}.{}", resource.plural, resource.group);
            let listed = api.list_metadata(&ListParams::default()).await;
            match listed.map_err(failed(format!("look for a {}", resource.kind), right)) {
                Ok(list) => names.extend(list.items.into_iter().filter_map(|object| {
                    let found = object.metadata.annotations.as_ref()?.get(inspect::LINEAGE)?;
                    let name = object.metadata.name.clone()?;
                    (*found == lineage).then_some(RegistrationName { kind, name })
                })),
                Err(error @ ObjectError::Unreachable(_)) => return Err(error),
                Err(error) => notes.push(format!("{error}; or name it with --registration")),
            }
        }
        Ok((names, notes))
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

fn failed(action: String, right: String) -> impl FnOnce(Error) -> ObjectError {
    move |error| match RequestError::from(error) {
        RequestError::Refused(status) if status.is_forbidden() => {
            ObjectError::Forbidden(format!("may not {action}: grant `{right}` ({})", status.message))
        }
        error @ RequestError::Unauthorized => ObjectError::Forbidden(format!("cannot {action}: {error}")),
        error @ RequestError::Unreachable(_) => ObjectError::Unreachable(format!("cannot {action}: {error}")),
        error => ObjectError::Refused(format!("cannot {action}: {error}")),
    }
}
