//! The labels and annotations of objects, whose types are known: they are maps from text to text.

use super::Checker;
use crate::expression::tree::{Access, Node, Part};
use crate::expression::types::Type;

/// The variables, and members of `request`, that are objects.
const OBJECTS: [&str; 3] = ["namespaceObject", "object", "oldObject"];

impl Checker<'_> {
    /// The type of the entries of `node`, if it is a map.
    pub(super) fn entry_of(&self, node: &Node) -> Type {
        if self.is_text_map(node) { Type::Text } else { Type::Any }
    }

    /// Whether `node` stands for labels or annotations: `object.metadata.labels`, or those of a pod template within an object.
    fn is_text_map(&self, node: &Node) -> bool {
        let Part::Field { of, name, access: Access::Required | Access::Optional } = &node.part else {
            return false;
        };
        let Part::Field { of: owner, name: metadata, .. } = &of.part else { return false };
        ["annotations", "labels"].contains(&name.as_str())
            && metadata == "metadata"
            && self.is_in_object(owner)
    }

    /// Whether `node` stands for an object or for a field of one.
    // Recursion is bounded by MAX_DEPTH of the parser.
    fn is_in_object(&self, node: &Node) -> bool {
        match &node.part {
            Part::Name(name) => OBJECTS.contains(&name.as_str()) && self.local(name).is_none(),
            Part::Field { of, name, .. } => match &of.part {
                Part::Name(variable) if variable == "request" => {
                    OBJECTS.contains(&name.as_str()) && self.local(variable).is_none()
                }
                _ => self.is_in_object(of),
            },
            _ => false,
        }
    }
}
