//! The volumes that the pods of a StatefulSet have from its claim templates.

use std::mem;

use vestibule::patch::{Document, Operation, View};

use super::{VOLUMES, items, present, raw, set};

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

/// The operations on `pod` without those on volumes of `claims`: the controller takes the claim, whatever the template has. The
/// others get the indices in the list `template`, which may be absent.
pub(super) fn without_claims(
    operations: &[Operation],
    pod: &str,
    claims: &[String],
    template: Option<View<'_>>,
) -> anyhow::Result<Vec<Operation>> {
    let pod = Document::parse(pod)?;
    let (mut is_absent, mut count) = (present(template).is_none(), items(template).len());
    let is_claim = |volume: &View<'_>| claims.iter().any(|claim| is_named(volume, claim));
    // The index in the template for each volume of the pod.
    let volumes = items(pod.at(&VOLUMES.parse()?)).into_iter().enumerate();
    let mut places: Vec<_> = volumes.map(|(index, volume)| (!is_claim(&volume)).then_some(index)).collect();
    let mut kept = Vec::with_capacity(operations.len());
    for operation in operations {
        let path = operation.path().as_str().strip_prefix(VOLUMES);
        let (index, below) = path.map_or(("", ""), |path| {
            let path = path.trim_start_matches('/');
            path.split_at(path.find('/').unwrap_or(path.len()))
        });
        let place = index.parse().ok().and_then(|index: usize| Some((index, *places.get(index)?)));
        match (operation, place) {
            // The last volume of the pod goes with its list.
            (Operation::Remove { .. }, None) if path == Some("") && places.contains(&None) => continue,
            (Operation::Remove { .. }, Some((index, place))) if below.is_empty() => {
                places.remove(index);
                if let Some(place) = place {
                    count -= 1;
                    places.iter_mut().flatten().filter(|other| **other > place).for_each(|other| *other -= 1);
                }
            }
            (Operation::Add { .. }, None) if index == "-" => {
                places.push(Some(count));
                count += 1;
            }
            _ => {}
        }
        kept.push(match (operation.clone(), place) {
            (Operation::Add { value, .. }, None) if index == "-" && mem::take(&mut is_absent) => {
                let value = serde_json::value::to_raw_value(&[&*value])?.into();
                Operation::Add { path: VOLUMES.parse()?, value }
            }
            (other, None) => {
                is_absent &= path != Some("");
                other
            }
            (_, Some((_, None))) => continue,
            (operation, Some((_, Some(place)))) => {
                let path = format!("{VOLUMES}/{place}{below}").parse()?;
                match operation {
                    Operation::Add { value, .. } => Operation::Add { path, value },
                    Operation::Replace { value, .. } => Operation::Replace { path, value },
                    Operation::Remove { .. } => Operation::Remove { path },
                    other => other,
                }
            }
        });
    }
    Ok(kept)
}

fn is_named(volume: &View<'_>, name: &str) -> bool {
    volume.get("name").and_then(View::as_str).as_deref() == Some(name)
}
