use std::sync::Arc;

use kube_cel::cel::Value;

use super::tree::Node;
use super::types::Type;
use crate::diagnostic::Position;

/// A compiled expression. It has no `Debug`, since the rule's author may have written a secret into it.
#[derive(Clone)]
pub(crate) struct Expression {
    pub(super) tree: Arc<Node>,
    /// Its depth in steps, with the steps of the variables that it names.
    pub(super) depth: usize,
    pub(crate) at: Position,
    /// The field that gets its value.
    pub(super) field: String,
    /// The type of its values, as far as it is known.
    pub(super) result: Type,
    /// Whether its field is a key of a list.
    pub(crate) is_key: bool,
    /// Whether its field is a map or an object.
    pub(crate) gives_map: bool,
    /// Whether the members of its value are parts of the rule, each merged by itself.
    pub(crate) gives_parts: bool,
    /// The value of `each`, if it belongs to an item with `forEach`.
    pub(super) each: Option<Value>,
    pub(crate) reads: Reads,
}

/// The inputs that expressions read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reads {
    /// Whether they read the object with the changes of earlier rules.
    pub(crate) object: bool,
    /// Whether they read the labels or annotations of the namespace.
    pub(crate) namespace: bool,
    /// Whether they may read the name of the owner.
    pub(crate) owner_name: bool,
    /// Whether they read `each`.
    pub(crate) each: bool,
    /// Whether they read the user of the request.
    pub(crate) user: bool,
}

impl Expression {
    /// Whether it may leave out its field.
    pub(crate) fn may_be_absent(&self) -> bool {
        matches!(self.result, Type::Optional(_))
    }
}

impl Reads {
    pub(crate) fn add(&mut self, other: Self) {
        self.object |= other.object;
        self.namespace |= other.namespace;
        self.owner_name |= other.owner_name;
        self.each |= other.each;
        self.user |= other.user;
    }
}

/// A named expression of a rule.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expression: Expression,
}
