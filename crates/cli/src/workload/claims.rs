//! The volumes that the pods of a StatefulSet have from its claim templates.

use serde_json::value::RawValue;
use vestibule::admission::keys;
use vestibule::patch::{Document, Operation, View, diff_onto};

use super::{VOLUMES, applied, items, present, raw, set};

/// The names of the volumes that a StatefulSet gives each of its pods.
pub(super) fn claims(workload: &Document<'_>) -> impl Iterator<Item = String> {
    let spec = present(workload.view().get("spec"));
    let claims = items(spec.and_then(|spec| spec.get("volumeClaimTemplates")));
    claims.into_iter().filter_map(|claim| Some(claim.get("metadata")?.get("name")?.as_str()?.into_owned()))
}

/// Adds the volume of a claim to the pod of the StatefulSet `name`, as its controller does: it takes the place of a volume of this
/// name. Another one becomes the last, so that the volumes of the template keep their indices.
pub(super) fn add_claim(pod: &mut Document<'_>, claim: &str, name: &str) -> anyhow::Result<()> {
    let volume = serde_json::json!({
        "name": claim, "persistentVolumeClaim": {"claimName": format!("{claim}-{name}-0")},
    });
    let Some(volumes) = present(pod.at(&VOLUMES.parse()?)).map(View::items) else {
        return set(pod, VOLUMES, &serde_json::json!([volume]));
    };
    let Some(index) = volumes.iter().position(|volume| is_named(volume, claim)) else {
        return set(pod, &format!("{VOLUMES}/-"), &volume);
    };
    let path = format!("{VOLUMES}/{index}").parse()?;
    Ok(pod.apply(&Operation::Replace { path, value: raw(&volume)? })?)
}

/// The operations on `pod` without changes to the volumes of `claims`, as operations on the list `template`, which may be absent. The
/// controller takes the claim, whatever the template has.
pub(super) fn without_claims(
    operations: &[Operation],
    pod: &str,
    claims: &[String],
    template: Option<View<'_>>,
) -> anyhow::Result<Vec<Operation>> {
    let is_claim = |volume: &View<'_>| claims.iter().any(|claim| is_named(volume, claim));
    let others = |json: &str| -> anyhow::Result<String> {
        let pod = Document::parse(json)?;
        let volumes = items(pod.at(&VOLUMES.parse()?)).into_iter().filter(|volume| !is_claim(volume));
        let volumes: Vec<_> = volumes.map(View::to_json).collect();
        with_volumes(json, format!("[{}]", volumes.join(",")))
    };
    let onto =
        with_volumes(pod, template.map_or_else(|| "null".into(), |volumes| volumes.to_json().into_owned()))?;
    let (before, after) = (others(pod)?, others(&applied(operations, pod)?)?);
    Ok(diff_onto(&before, &after, &onto, keys::schema("", "v1", "Pod"))?)
}

fn with_volumes(pod: &str, volumes: String) -> anyhow::Result<String> {
    let mut pod = Document::parse(pod)?;
    pod.apply(&Operation::Add { path: VOLUMES.parse()?, value: RawValue::from_string(volumes)?.into() })?;
    Ok(pod.to_json())
}

fn is_named(volume: &View<'_>, name: &str) -> bool {
    volume.get("name").and_then(View::as_str).as_deref() == Some(name)
}
