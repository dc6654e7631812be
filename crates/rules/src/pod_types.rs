//! Checks the types of fragments of a pod by decoding them as the API server does, which refuses a whole pod for one
//! quoted number.

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvFromSource, EnvVar, LocalObjectReference, PodSpec, Volume, VolumeDevice,
    VolumeMount,
};
use k8s_openapi::serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use vestibule_patch::Schema;

use crate::overlay::Overlay;
use crate::pod;

/// A value that its field cannot hold.
pub(crate) struct TypeError {
    pub(crate) path: Path,
    /// The type in the decoder's message; `None` if the type is right and the value is not.
    pub(crate) expected: Option<String>,
}

/// The reason why the API server would refuse an item of the list `field`; `schema` is that of the item.
pub(crate) fn type_error(field: &str, item: &Overlay, schema: Schema<'_>) -> Option<String> {
    let TypeError { path, expected } = decoded(field, item)?;
    let name = field_name(field, &path, schema);
    Some(type_message(name, expected.as_deref(), overlay_at(item, &path)))
}

/// A member of a computed object that pods do not have, after the name of the object. The reader reports those that are written.
// Recursion is bounded by the depth of values.
pub(crate) fn unknown_member<'v>(
    value: &'v Overlay,
    name: &'v str,
    schema: Schema<'_>,
) -> Option<(&'v str, &'v str)> {
    let in_items = value.items().iter().find_map(|item| unknown_member(item, name, schema.item()));
    in_items.or_else(|| {
        let fields = schema.fields();
        value.members().iter().filter(|member| member.known && !pod::is_text_map(name)).find_map(|member| {
            let is_field = fields.is_empty() || fields.iter().any(|field| field.name == member.name);
            match is_field {
                true => unknown_member(&member.value, &member.name, schema.field(&member.name)),
                false => Some((name, member.name.as_str())),
            }
        })
    })
}

/// Decodes an item of the list `field`.
pub(crate) fn decoded(field: &str, item: &Overlay) -> Option<TypeError> {
    let json = item.to_json();
    match field {
        "env" => decoded_as::<EnvVar>(&json),
        "envFrom" => decoded_as::<EnvFromSource>(&json),
        "ports" => decoded_as::<ContainerPort>(&json),
        "containerPatches" | "sidecars" | "initContainers" => decoded_as::<Container>(&json),
        "imagePullSecrets" => decoded_as::<LocalObjectReference>(&json),
        "pod.spec" => decoded_as::<PodSpec>(&json),
        "volumeDevices" => decoded_as::<VolumeDevice>(&json),
        "volumeMounts" => decoded_as::<VolumeMount>(&json),
        "volumes" => decoded_as::<Volume>(&json),
        _ => None,
    }
}

/// Names the field and the types, but never the value, which may be a secret.
pub(crate) fn type_message(name: &str, expected: Option<&str>, value: Option<&Overlay>) -> String {
    match expected {
        Some(expected) => format!("`{name}` wants {}, and this is {}", wanted(expected), found(value)),
        None => format!("the API server refuses this value of `{name}`"),
    }
}

/// The keys of `path`, without the positions in lists.
pub(crate) fn keys(path: &Path) -> impl DoubleEndedIterator<Item = &str> {
    path.iter().filter_map(|segment| match segment {
        Segment::Map { key } => Some(key.as_str()),
        Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
    })
}

/// The last field of pods in `path`. Another key may be a value of the object.
fn field_name<'p>(field: &'p str, path: &'p Path, mut schema: Schema<'_>) -> &'p str {
    let mut name = field;
    for key in keys(path) {
        if !schema.fields().iter().any(|field| field.name == key) {
            break;
        }
        (name, schema) = (key, schema.field(key));
    }
    name
}

fn decoded_as<T: DeserializeOwned>(json: &str) -> Option<TypeError> {
    let mut decoder = serde_json::Deserializer::from_str(json);
    let error = serde_path_to_error::deserialize::<_, T>(&mut decoder).err()?;
    // Serde reports the expected type only in its message, which quotes the value before these words. Only the text
    // after them may be shown.
    let message = error.inner().to_string();
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    let expected = expected.map(|words| words.split(" at line ").next().unwrap_or(words).to_owned());
    Some(TypeError { path: error.path().clone(), expected })
}

pub(crate) fn overlay_at<'o>(item: &'o Overlay, path: &Path) -> Option<&'o Overlay> {
    path.iter().try_fold(item, |value, segment| match (value, segment) {
        (Overlay::Expression(_), _) => Some(value),
        (_, Segment::Map { key }) => value.get(key),
        (_, Segment::Seq { index }) => value.items().get(*index),
        (_, Segment::Enum { .. } | Segment::Unknown) => None,
    })
}

/// Translates the decoder's word for a type; any other word is the name of an object type.
fn wanted(expected: &str) -> &'static str {
    match expected {
        "i32" => "a whole number of 32 bits",
        "i64" => "a whole number of 64 bits",
        "a boolean" => "`true` or `false`",
        "a string" => "text",
        "a sequence" => "a list",
        "IntOrString" => "a whole number or text",
        "Quantity" => "a quantity",
        "Time" => "a time",
        _ => "a map",
    }
}

fn found(value: Option<&Overlay>) -> &'static str {
    match value {
        Some(Overlay::Text(_)) => "text",
        Some(Overlay::Literal(literal)) if matches!(literal.as_str(), "true" | "false") => "a truth value",
        Some(Overlay::Literal(_)) => "another number",
        Some(Overlay::List(_)) => "a list",
        Some(Overlay::Map(_) | Overlay::Loop(_)) => "a map",
        Some(Overlay::Expression(_)) => "an expression",
        None => "something else",
    }
}
