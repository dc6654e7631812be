//! The parts that a conversion must not change: the kind, and all metadata but labels and annotations.

use std::borrow::Cow;

use serde_json::value::RawValue;
use vestibule_patch::View;

use crate::Unconvertible;
use crate::one_line::one_line;

/// If one of these differs, the API server refuses the converted object.
const IDENTITY: [&str; 3] = ["name", "namespace", "uid"];
/// The API server takes these from the converted object.
const CHANGEABLE: [&str; 2] = ["labels", "annotations"];

/// The converted object with the metadata of the original.
pub(super) fn restore(
    received: View<'_>,
    converted: View<'_>,
    desired: &str,
) -> Result<Box<RawValue>, Unconvertible> {
    if text(converted, "apiVersion") != Some(desired.into()) {
        return Err(Unconvertible::new("the converter gave back an object of another apiVersion"));
    }
    if text(converted, "kind") != text(received, "kind") {
        return Err(Unconvertible::new("the converter gave back an object of another kind"));
    }
    let (before, after) = (received.get("metadata"), converted.get("metadata"));
    if before.is_some() && after.is_none() {
        return Err(Unconvertible::new("the converter gave back no metadata"));
    }
    let differs = |name: &&str| {
        let before = before.and_then(|metadata| text(metadata, name));
        before != after.and_then(|metadata| text(metadata, name))
    };
    if let Some(name) = IDENTITY.into_iter().find(differs) {
        let why = "the metadata of one version is handed on to the other";
        return Err(Unconvertible::new(format_args!(
            "the converter gave back another metadata.{name}: {why}"
        )));
    }
    let metadata = object(merged(before, after));
    let members = converted.entries().into_iter().map(|(name, value)| match &*name {
        "metadata" => (name, metadata.as_str().into()),
        _ => (name, value.to_json()),
    });
    // Server-side apply sends objects without metadata, and the API server refuses a converted object without it.
    let missing = after.is_none().then_some(("metadata".into(), "{}".into()));
    RawValue::from_string(object(members.chain(missing)))
        .map_err(|_| Unconvertible::new("the converter gave back no JSON"))
}

/// `Widget shop/a`; for an object without a name, its position in the review.
pub(super) fn display_name(object: View<'_>, index: usize) -> String {
    let metadata = object.get("metadata");
    let of = |name| metadata.and_then(|metadata| text(metadata, name));
    let kind = text(object, "kind").unwrap_or("object".into());
    let name = match (of("namespace"), of("name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        (_, None) => format!("{kind} number {}", index + 1),
    };
    one_line(&name, 512)
}

fn merged<'v>(
    before: Option<View<'v>>,
    after: Option<View<'v>>,
) -> impl Iterator<Item = (Cow<'v, str>, Cow<'v, str>)> {
    let is_changeable = |name: &str| CHANGEABLE.contains(&name);
    let entries = |metadata: Option<View<'v>>| metadata.into_iter().flat_map(View::entries);
    let before = entries(before).filter(move |(name, _)| !is_changeable(name));
    let after = entries(after).filter(move |(name, _)| is_changeable(name));
    before.chain(after).map(|(name, value)| (name, value.to_json()))
}

/// Go treats an empty string as absent.
fn text<'v>(object: View<'v>, name: &str) -> Option<Cow<'v, str>> {
    object.get(name).and_then(View::as_str).filter(|text| !text.is_empty())
}

fn object<'v>(members: impl Iterator<Item = (Cow<'v, str>, Cow<'v, str>)>) -> String {
    let mut json = String::from("{");
    for (name, value) in members {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&serde_json::Value::from(&*name).to_string());
        json.push(':');
        json.push_str(&value);
    }
    json.push('}');
    json
}
