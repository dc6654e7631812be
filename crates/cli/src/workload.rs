//! Which pods an object makes.

use std::sync::Arc;

use vestibule::patch::{ApplyError, Document, Operation, Pointer, View};

use crate::objects::Object;

/// A kind that holds a pod template.
pub(crate) struct Workload {
    api_version: &'static str,
    kind: &'static str,
    /// Where the template is.
    pub(crate) template: &'static str,
    /// What its pods name as their owner: `apiVersion` and `kind`.
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

/// Stands for the hash of a template, which its pods carry and which ends the name of their ReplicaSet: by it, rules know
/// the Deployment. What it will be, nobody knows yet, so it must not come into what is printed.
const HASH: &str = "0not-known-yet0";

impl Workload {
    pub(crate) fn of(object: &Object) -> Option<&'static Self> {
        WORKLOADS.iter().find(|one| one.api_version == object.api_version && one.kind == object.kind)
    }

    const fn new(
        api_version: &'static str,
        kind: &'static str,
        template: &'static str,
        owner: Option<(&'static str, &'static str)>,
    ) -> Self {
        Self { api_version, kind, template, owner }
    }

    /// Whether nobody knows yet what the owner of the pods of `object` will be called.
    pub(crate) fn presumes_owner(&self, object: &Object) -> bool {
        self.kind == "CronJob" || self.owner.is_none() || object.given_name().is_empty()
    }

    /// The pod that the workload `json` will make, as its controller sends it; `None` without a template.
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
        set(&mut pod, "/metadata/generateName", &serde_json::json!(format!("{name}-")))?;
        if let Some((api_version, kind)) = self.owner {
            let mut owner_name = name.to_owned();
            // Without labels of its own, which no API server takes, a template would have to get them with the hash.
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

/// The operations on a pod as operations on what stands at `prefix` of `json`.
pub(crate) fn graft(operations: &[Operation], prefix: &str, json: &str) -> anyhow::Result<Vec<Operation>> {
    let is_unknown =
        |operation: &Operation| operation.value().is_some_and(|value| value.get().contains(HASH));
    anyhow::ensure!(
        !operations.iter().any(is_unknown),
        "a rule writes the hash of the template, or the name of the ReplicaSet, which nobody knows before there is a pod"
    );
    let mut grafted = Vec::with_capacity(operations.len());
    let metadata: Pointer = format!("{prefix}/metadata").parse()?;
    let writes = operations.iter().any(|operation| operation.path().as_str().starts_with("/metadata/"));
    // The API server sees to it that every object has metadata; a template may have none.
    if writes && present(Document::parse(json)?.at(&metadata)).is_none() {
        grafted.push(Operation::Add { path: metadata, value: raw(&serde_json::json!({}))? });
    }
    grafted.extend(under(operations, prefix)?);
    Ok(grafted)
}

/// The operations, on what stands at `prefix` of another document.
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

/// What is there and not `null`, which Go reads as nothing.
fn present(view: Option<View<'_>>) -> Option<View<'_>> {
    view.filter(|view| !view.is_null())
}

fn set(document: &mut Document<'_>, path: &str, value: &serde_json::Value) -> anyhow::Result<()> {
    let add = Operation::Add { path: path.parse()?, value: raw(value)? };
    document.apply(&add).map_err(|error: ApplyError| error.into())
}

fn raw(value: &serde_json::Value) -> anyhow::Result<Arc<serde_json::value::RawValue>> {
    Ok(serde_json::value::to_raw_value(value)?.into())
}
