//! The pods that an object makes.

mod claims;

use std::sync::Arc;

use vestibule::patch::{ApplyError, Document, Operation, Pointer, View};

use self::claims::{add_claim, claims, without_claims};

/// A kind that holds a pod template.
pub(crate) struct Workload {
    api_version: &'static str,
    kind: &'static str,
    /// The pointer to the pod template.
    pub(crate) template: &'static str,
    /// `apiVersion` and `kind` of the owner of its pods.
    owner: Option<(&'static str, &'static str)>,
}

const WORKLOADS: [Workload; 8] = [
    Workload::new("apps/v1", "Deployment", "/spec/template", Some(("apps/v1", "ReplicaSet"))),
    Workload::new("apps/v1", "ReplicaSet", "/spec/template", Some(("apps/v1", "ReplicaSet"))),
    Workload::new("apps/v1", "StatefulSet", "/spec/template", Some(("apps/v1", "StatefulSet"))),
    Workload::new("apps/v1", "DaemonSet", "/spec/template", Some(("apps/v1", "DaemonSet"))),
    Workload::new("batch/v1", "Job", "/spec/template", Some(("batch/v1", "Job"))),
    Workload::new("batch/v1", "CronJob", "/spec/jobTemplate/spec/template", Some(("batch/v1", "Job"))),
    Workload::new("v1", "ReplicationController", "/spec/template", Some(("v1", "ReplicationController"))),
    Workload::new("v1", "PodTemplate", "/template", None),
];

/// A placeholder for the hash of a pod template. Pods have the hash in a label and in the name of their ReplicaSet, from which
/// rules derive the Deployment. The real hash is not known, so the placeholder must not be printed.
const HASH: &str = "0not-known-yet0";

const VOLUMES: &str = "/spec/volumes";

impl Workload {
    pub(crate) fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.api_version == api_version && workload.kind == kind)
    }

    const fn new(
        api_version: &'static str,
        kind: &'static str,
        template: &'static str,
        owner: Option<(&'static str, &'static str)>,
    ) -> Self {
        Self { api_version, kind, template, owner }
    }

    /// Whether the owner of its pods is named after the object. Each Job of a CronJob gets a name of its own.
    pub(crate) fn names_owner(&self) -> bool {
        self.kind != "CronJob" && self.owner.is_some()
    }

    /// The pod that the controller of the workload `json` will create; [`None`] without a template.
    pub(crate) fn pod(&self, json: &str, name: &str) -> anyhow::Result<Option<String>> {
        let workload = Document::parse(json)?;
        let Some(template) = present(workload.at(&self.template.parse()?)) else { return Ok(None) };
        let part = |member: &str| present(template.get(member)).map_or_else(|| "{}".into(), View::to_json);
        let pod = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":{}}}"#,
            part("metadata"),
            part("spec")
        );
        let mut pod = Document::parse(&pod)?;
        for claim in claims(&workload) {
            add_claim(&mut pod, &claim, name)?;
        }
        set(&mut pod, "/metadata/generateName", &serde_json::json!(format!("{name}-")))?;
        if let Some((api_version, kind)) = self.owner {
            let mut owner_name = name.to_owned();
            // A template without labels, which an API server refuses, would need a new map for the hash.
            if self.kind == "Deployment" && present(pod.at(&"/metadata/labels".parse()?)).is_some() {
                set(&mut pod, "/metadata/labels/pod-template-hash", &serde_json::json!(HASH))?;
                owner_name = format!("{name}-{HASH}");
            }
            let owner = serde_json::json!([{
                "apiVersion": api_version, "kind": kind, "name": owner_name, "uid": "", "controller": true,
            }]);
            set(&mut pod, "/metadata/ownerReferences", &owner)?;
        }
        Ok(Some(pod.to_json()))
    }
}

/// The names of the ephemeral containers of the pod `json`. They are added to running pods, and no rule changes them.
pub(crate) fn ephemeral_containers(json: &str) -> Vec<String> {
    let Ok(pod) = Document::parse(json) else { return Vec::new() };
    let containers = items(pod.view().get("spec").and_then(|spec| spec.get("ephemeralContainers")));
    containers
        .into_iter()
        .filter_map(|container| Some(container.get("name")?.as_str()?.into_owned()))
        .collect()
}

/// `json` in `namespace`, unless it names one itself.
pub(crate) fn in_namespace(json: &str, namespace: &str) -> anyhow::Result<String> {
    let mut document = Document::parse(json)?;
    if present(document.view().get("metadata")).is_none() {
        set(&mut document, "/metadata", &serde_json::json!({}))?;
    }
    let own = document.at(&"/metadata/namespace".parse()?).and_then(View::as_str);
    if own.is_none_or(|own| own.is_empty()) {
        set(&mut document, "/metadata/namespace", &serde_json::json!(namespace))?;
    }
    Ok(document.to_json())
}

/// Operations on `pod` as operations on the template at `prefix` of `json`.
pub(crate) fn graft(
    operations: &[Operation],
    pod: &str,
    prefix: &str,
    json: &str,
) -> anyhow::Result<Vec<Operation>> {
    let is_unknown =
        |operation: &Operation| operation.value().is_some_and(|value| value.get().contains(HASH));
    anyhow::ensure!(
        !operations.iter().any(is_unknown),
        "a rule writes the hash of the template, or the name of the ReplicaSet, which is not known before there is a pod"
    );
    let mut grafted = Vec::with_capacity(operations.len());
    let object = Document::parse(json)?;
    let metadata: Pointer = format!("{prefix}/metadata").parse()?;
    let writes = operations.iter().any(|operation| operation.path().as_str().starts_with("/metadata/"));
    // Every object has metadata, but a template may have none.
    if writes && present(object.at(&metadata)).is_none() {
        grafted.push(Operation::Add { path: metadata, value: raw(&serde_json::json!({}))? });
    }
    let claims: Vec<_> = claims(&object).collect();
    if claims.is_empty() {
        grafted.extend(under(operations, prefix)?);
    } else {
        let volumes = object.at(&format!("{prefix}{VOLUMES}").parse()?);
        grafted.extend(under(&without_claims(operations, pod, &claims, volumes)?, prefix)?);
    }
    Ok(grafted)
}

/// The operations with `prefix` before their paths.
pub(crate) fn under(operations: &[Operation], prefix: &str) -> anyhow::Result<Vec<Operation>> {
    let under = |path: &Pointer| format!("{prefix}{}", path.as_str()).parse::<Pointer>();
    let mut moved = Vec::with_capacity(operations.len());
    for operation in operations {
        moved.push(match operation.clone() {
            Operation::Add { path, value } => Operation::Add { path: under(&path)?, value },
            Operation::Remove { path } => Operation::Remove { path: under(&path)? },
            Operation::Replace { path, value } => Operation::Replace { path: under(&path)?, value },
            Operation::Move { from, path } => Operation::Move { from: under(&from)?, path: under(&path)? },
            Operation::Copy { from, path } => Operation::Copy { from: under(&from)?, path: under(&path)? },
            Operation::Test { path, value } => Operation::Test { path: under(&path)?, value },
        });
    }
    Ok(moved)
}

/// `json` after `operations`.
pub(crate) fn applied(operations: &[Operation], json: &str) -> anyhow::Result<String> {
    let mut document = Document::parse(json)?;
    document.apply_all(operations)?;
    Ok(document.to_json())
}

/// The value, unless it is `null`, which Go reads as absent.
fn present(view: Option<View<'_>>) -> Option<View<'_>> {
    view.filter(|view| !view.is_null())
}

fn items(view: Option<View<'_>>) -> Vec<View<'_>> {
    view.map(View::items).unwrap_or_default()
}

fn set(document: &mut Document<'_>, path: &str, value: &serde_json::Value) -> anyhow::Result<()> {
    let add = Operation::Add { path: path.parse()?, value: raw(value)? };
    document.apply(&add).map_err(|error: ApplyError| error.into())
}

fn raw(value: &serde_json::Value) -> anyhow::Result<Arc<serde_json::value::RawValue>> {
    Ok(serde_json::value::to_raw_value(value)?.into())
}
