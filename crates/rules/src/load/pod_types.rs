//! Reports the type errors of fragments of a pod.

use std::borrow::Cow;

use serde_path_to_error::{Path, Segment};

use super::reader::Reader;
use crate::diagnostic::{WRONG_TYPE, WRONG_VALUE};
use crate::overlay::Overlay;
use crate::pod_types::{TypeError, decoded, keys, overlay_at, type_message};
use crate::yaml::Node;

impl Reader {
    /// Reports the first value in an item of the list `field` whose type the API server would refuse. `item` is
    /// `node` without the fields of the rule format. Fields that this version of Kubernetes does not know are
    /// accepted.
    pub(super) fn check_types(&mut self, node: &Node, field: &str, item: &Overlay) {
        let sampled = if item.is_dynamic() { Cow::Owned(with_samples(item)) } else { Cow::Borrowed(item) };
        let Some(TypeError { path, expected }) = decoded(field, &sampled) else { return };
        match (overlay_at(item, &path), &expected) {
            (_, Some(expected)) if is_computed(item, &path) => {
                let message =
                    type_message(written_name(field, &path), Some(expected), overlay_at(&sampled, &path));
                let help = match expected.as_str() {
                    "i32" | "i64" => "int",
                    "a boolean" => "bool",
                    "a string" => "string",
                    _ => "",
                };
                self.report_mismatch_in_place(node_at(node, &path), message, help);
            }
            // The type is right; the value is known only for an object.
            (_, None) if is_computed(item, &path) => {}
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
        let message = type_message(written_name(field, path), expected, value);
        let Some(expected) = expected else { return self.error(&WRONG_VALUE, at, message, "") };
        self.error(&WRONG_TYPE, at, message, help(expected, value));
    }
}

/// The last key of `path`, which is in the text of the rule.
fn written_name<'p>(field: &'p str, path: &'p Path) -> &'p str {
    keys(path).next_back().unwrap_or(field)
}

/// Whether an expression gives the value at the path, or a map or list around it.
fn is_computed(item: &Overlay, path: &Path) -> bool {
    matches!(overlay_at(item, path), Some(Overlay::Expression(_)))
}

/// `item` with a sample value for each expression whose type is known.
// Recursion is bounded by the depth of the rule's document.
fn with_samples(item: &Overlay) -> Overlay {
    item.replaced(&|value| match value {
        Overlay::Expression(expression) => expression.sample(),
        Overlay::Loop(repeated) => Some(with_samples(&repeated.item)),
        _ => None,
    })
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

fn help(expected: &str, value: Option<&Overlay>) -> &'static str {
    const UNQUOTED: &str = "write it without quotes";
    match (expected, value) {
        ("a string", Some(Overlay::Literal(_))) => "put it into quotes",
        ("i32" | "i64", Some(Overlay::Text(text))) if text.parse::<i64>().is_ok() => UNQUOTED,
        ("a boolean", Some(Overlay::Text(text))) if text.parse::<bool>().is_ok() => UNQUOTED,
        _ => "",
    }
}
