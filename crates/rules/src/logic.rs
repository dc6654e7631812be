//! The parameters, variables and conditions of a rule.
//!
//! `load` fills a [`Logic`] while it reads a rule; `evaluate` computes its values for each object.

use std::sync::Arc;

use crate::expression::{Expression, Reads, Variable};
use crate::parameter::Parameter;

/// The computed parts of a rule.
#[derive(Clone, Default)]
pub(crate) struct Logic {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) variables: Vec<Variable>,
    /// `matchConditions`; all of them must hold.
    pub(crate) conditions: Vec<Condition>,
    /// Whether any value of the rule is an expression.
    pub(crate) dynamic: bool,
    /// Whether any key of a list in the rule is an expression.
    pub(crate) computes_keys: bool,
    /// Whether an expression gives all labels or annotations that the rule adds.
    pub(crate) computes_metadata: bool,
    /// The inputs that its expressions and parameters read.
    pub(crate) reads: Reads,
}

/// One of `matchConditions`.
#[derive(Clone)]
pub(crate) struct Condition {
    /// `matchConditions[NAME]`.
    pub(crate) clause: Arc<str>,
    pub(crate) expression: Expression,
}

impl Logic {
    /// Whether the rule has neither conditions nor parameters.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.parameters.is_empty()
    }

    /// Whether the rule is the same for every object.
    pub(crate) fn is_fixed(&self) -> bool {
        self.conditions.is_empty() && !self.dynamic
    }
}
