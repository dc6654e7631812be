use kube_cel::cel::common::ast::IdedExpr;

use super::types::Type;
use crate::diagnostic::Position;

/// A compiled expression. It has no `Debug`, since the rule's author may have written a secret into it.
#[derive(Clone)]
pub(crate) struct Expression {
    pub(super) tree: IdedExpr,
    /// Its depth in steps, with the steps of the variables that it names.
    pub(super) depth: usize,
    pub(crate) at: Position,
    /// The field that gets its value.
    pub(super) field: String,
    /// The type of its values, as far as it is known.
    pub(super) result: Type,
    /// Whether its field is a key of a list.
    pub(crate) is_key: bool,
    /// Whether it reads the object with the changes of earlier rules.
    pub(crate) reads_object: bool,
    /// Whether it reads the labels or annotations of the namespace.
    pub(crate) reads_namespace: bool,
    /// Whether it may read the name of the owner.
    pub(crate) reads_owner_name: bool,
}

/// A named expression of a rule.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expression: Expression,
}
