//! Checks the types of fragments by decoding them as the API server does, which refuses a whole pod for one quoted
//! number.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvFromSource, EnvVar, LocalObjectReference, PodSpec, Volume, VolumeDevice,
    VolumeMount,
};
use k8s_openapi::serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use super::reader::Reader;
use crate::diagnostic;
use crate::overlay::{Member, Overlay};
use crate::yaml::Node;

/// A value that its field cannot hold.
struct Mismatch {
    path: Path,
    /// The type in the decoder's message; `None` if the type is right and the value is not.
    expected: Option<String>,
}

impl Reader {
    /// Reports the first value in an item of the list `field` whose type the API server would refuse. `item` is
    /// `node` without the fields of the rule format. Fields that this version of Kubernetes does not know are
    /// accepted.
    pub(super) fn check_types(&mut self, node: &Node, field: &str, item: &Overlay) {
        let sampled = if item.is_dynamic() { Cow::Owned(with_samples(item)) } else { Cow::Borrowed(item) };
        let Some(Mismatch { path, expected }) = decoded(field, &sampled) else { return };
        match (overlay_at(item, &path), &expected) {
            (Some(Overlay::Expression(_)), Some(expected)) => {
                let message = type_message(field, &path, Some(expected), overlay_at(&sampled, &path));
                let help = match expected.as_str() {
                    "i32" | "i64" => "int",
                    "a boolean" => "bool",
                    "a string" => "string",
                    _ => "",
                };
                self.report_mismatch_in_place(node_at(node, &path), message, help);
            }
            // The type is right; the value is known only for an object.
            (Some(Overlay::Expression(_)), None) => {}
            _ => self.report_type_error(node, field, item, &path, expected.as_deref()),
        }
    }

    fn report_type_error(
        &mut self,
        node: &Node,
        field: &str,
        item: &Overlay,
        path: &Path,
        expected: Option<&str>,
    ) {
        let (at, value) = (node_at(node, path).at(), overlay_at(item, path));
        let message = type_message(field, path, expected, value);
        let Some(expected) = expected else { return self.error(&diagnostic::WRONG_VALUE, at, message) };
        match help(expected, value) {
            Some(help) => self.error_with_help(&diagnostic::WRONG_TYPE, at, message, help),
            None => self.error(&diagnostic::WRONG_TYPE, at, message),
        }
    }
}

/// `item` with a sample value for each expression whose type is known.
// Recursion is bounded by the depth of the rule's document.
fn with_samples(item: &Overlay) -> Overlay {
    match item {
        Overlay::Expression(expression) => expression.sample().unwrap_or_else(|| item.clone()),
        Overlay::List(items) => Overlay::List(items.iter().map(with_samples).collect()),
        Overlay::Map(members) => {
            let sampled = |member: &Member| Member { value: with_samples(&member.value), ..member.clone() };
            Overlay::Map(members.iter().map(sampled).collect())
        }
        Overlay::Text(_) | Overlay::Literal(_) => item.clone(),
    }
}

/// The reason why the API server would refuse an item of the list `field`.
pub(crate) fn type_error(field: &str, item: &Overlay) -> Option<String> {
    let Mismatch { path, expected } = decoded(field, item)?;
    Some(type_message(field, &path, expected.as_deref(), overlay_at(item, &path)))
}

fn decoded(field: &str, item: &Overlay) -> Option<Mismatch> {
    let json = item.to_json();
    match field {
        "env" => mismatch::<EnvVar>(&json),
        "envFrom" => mismatch::<EnvFromSource>(&json),
        "ports" => mismatch::<ContainerPort>(&json),
        "containers" | "sidecars" | "initContainers" => mismatch::<Container>(&json),
        "imagePullSecrets" => mismatch::<LocalObjectReference>(&json),
        "pod.spec" => mismatch::<PodSpec>(&json),
        "volumeDevices" => mismatch::<VolumeDevice>(&json),
        "volumeMounts" => mismatch::<VolumeMount>(&json),
        "volumes" => mismatch::<Volume>(&json),
        _ => None,
    }
}

/// Names the field and the types, but never the value, which may be a secret.
fn type_message(field: &str, path: &Path, expected: Option<&str>, value: Option<&Overlay>) -> String {
    let mut keys = path.iter().filter_map(|segment| match segment {
        Segment::Map { key } => Some(key.as_str()),
        Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
    });
    let name = keys.next_back().unwrap_or(field);
    match expected {
        Some(expected) => format!("`{name}` wants {}, and this is {}", wanted(expected), found(value)),
        None => format!("the API server refuses this value of `{name}`"),
    }
}

fn mismatch<T: DeserializeOwned>(json: &str) -> Option<Mismatch> {
    let mut decoder = serde_json::Deserializer::from_str(json);
    let error = serde_path_to_error::deserialize::<_, T>(&mut decoder).err()?;
    // Serde reports the expected type only in its message, which quotes the value before these words. Only the text
    // after them may be shown.
    let message = error.inner().to_string();
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    let expected = expected.map(|words| words.split(" at line ").next().unwrap_or(words).to_owned());
    Some(Mismatch { path: error.path().clone(), expected })
}

/// The node at the path, or the last existing one on the way.
fn node_at<'n>(mut node: &'n Node, path: &Path) -> &'n Node {
    for segment in path {
        let below = match segment {
            Segment::Map { key } => node.get(key),
            Segment::Seq { index } => node.as_list().and_then(|items| items.get(*index)),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        let Some(below) = below else { break };
        node = below;
    }
    node
}

fn overlay_at<'o>(item: &'o Overlay, path: &Path) -> Option<&'o Overlay> {
    path.iter().try_fold(item, |value, segment| match segment {
        Segment::Map { key } => value.get(key),
        Segment::Seq { index } => value.items().get(*index),
        Segment::Enum { .. } | Segment::Unknown => None,
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
        Some(Overlay::Map(_)) => "a map",
        Some(Overlay::Expression(_)) => "an expression",
        None => "something else",
    }
}

fn help(expected: &str, value: Option<&Overlay>) -> Option<&'static str> {
    let unquoted = match (expected, value?) {
        ("a string", Overlay::Literal(_)) => return Some("put it into quotes"),
        ("i32" | "i64", Overlay::Text(text)) => text.parse::<i64>().is_ok(),
        ("a boolean", Overlay::Text(text)) => text.parse::<bool>().is_ok(),
        _ => false,
    };
    unquoted.then_some("write it without quotes")
}
