//! Expressions of the Common Expression Language (CEL): compiled when rules are loaded, evaluated for an object.
//!
//! `load` calls [`Expression::compile`] and [`Expression::check`]; `logic` evaluates with [`Expression::holds`] and
//! [`Expression::overlay`] in a [`Scope`]; `proof` asks for [`Expression::requirements`]. The syntax tree, values and most
//! functions come from the crate kube-cel. Parsing (docs/adr/0060) and evaluation (docs/adr/0027) are ours, so that both
//! have bounds: `budget` counts steps and bytes. Start with `parse`, then `interpret`, then `functions`.

mod budget;
mod error;
mod functions;
mod interpret;
mod lint;
mod locate;
mod object_value;
mod parse;
mod quantity;
mod requirements;
mod scope;
mod types;
mod values;

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::IdedExpr;

use crate::diagnostic::{self, Diagnostic, MAX_FINDINGS, Position, Source};
use crate::overlay::Overlay;
use crate::yaml::Node;
pub(crate) use budget::SharedBudget;
pub(crate) use error::EvaluationError;
pub(crate) use functions::Pattern;
use interpret::Interpreter;
pub(crate) use lint::Declared;
use lint::{Finding, Lint};
pub(crate) use object_value::ObjectValue;
pub(crate) use requirements::{ITEM, Requirement};
pub(crate) use scope::{RequestScope, Scope};
pub(crate) use types::{Mismatch, Type};
pub(crate) use values::text;

/// A compiled expression. It has no `Debug`, since the rule's author may have written a secret into it.
#[derive(Clone)]
pub(crate) struct Expression {
    tree: IdedExpr,
    /// Its depth in steps, with the steps of the variables that it names.
    depth: usize,
    pub(crate) at: Position,
    /// The field that gets its value.
    field: String,
    /// The type of its values, as far as it is known.
    result: Type,
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

impl Expression {
    /// Compiles the text of `node` for the field `field` of a rule with the names `declared`. The first `places` findings get
    /// their place within the text, which costs a search in the source.
    pub(crate) fn compile(
        source: &Arc<Source>,
        node: &Node,
        field: &str,
        declared: Declared<'_>,
        places: usize,
    ) -> Result<Self, Vec<Diagnostic>> {
        let text = node.as_text().unwrap_or_default();
        let too_much = |error: EvaluationError| {
            vec![source.error(&diagnostic::EXPRESSION_SIZE, node.at(), error.sentence())]
        };
        declared.total.spend(text.len()).map_err(too_much)?;
        let tree = parse::parse(text).map_err(|error| match error.message {
            Some(message) => {
                let (code, help) = (&diagnostic::EXPRESSION_SYNTAX, String::new());
                diagnostics(
                    source,
                    node,
                    (places, declared.total),
                    vec![Finding { code, at: error.at, message, help }],
                )
            }
            None => vec![too_large(source, node)],
        })?;
        let mut lint = Lint::new(declared);
        lint.visit(&tree);
        let Lint { findings, reads_object, reads_namespace, reads_owner_name, deepest, .. } = lint;
        if findings.is_empty() && deepest > parse::MAX_DEPTH {
            return Err(vec![too_large(source, node)]);
        }
        if findings.is_empty() {
            let (at, field) = (node.at(), field.to_owned());
            let (depth, result, is_key) = (deepest, Type::Any, false);
            return Ok(Self {
                tree,
                depth,
                at,
                field,
                result,
                is_key,
                reads_object,
                reads_namespace,
                reads_owner_name,
            });
        }
        Err(diagnostics(source, node, (places, declared.total), findings))
    }

    /// The value of a condition.
    pub(crate) fn holds(&self, scope: &Scope<'_>) -> Result<bool, EvaluationError> {
        match Interpreter::new(scope).value(&self.tree)? {
            Value::Bool(truth) => Ok(truth),
            other => {
                let found = values::kind(&other);
                Err(EvaluationError::failed(format!("a condition is true or false, and this is {found}")))
            }
        }
    }

    /// The value for its field; `None` leaves the field out.
    pub(crate) fn overlay(&self, scope: &Scope<'_>) -> Result<Option<Overlay>, EvaluationError> {
        let value = Interpreter::new(scope).value(&self.tree)?;
        scope.budget.read(&value)?;
        let overlay = values::overlay(&value, &self.field)?;
        match overlay {
            None | Some(Overlay::List(_)) if self.is_key => Err(EvaluationError::failed(format!(
                "`{}` tells the items of a list apart, so it needs a single value",
                self.field
            ))),
            overlay => Ok(overlay),
        }
    }
}

fn too_large(source: &Arc<Source>, node: &Node) -> Diagnostic {
    let (length, depth, nesting) = (parse::MAX_LENGTH, parse::MAX_DEPTH, parse::MAX_NESTING);
    let message = format!(
        "an expression has at most {length} bytes, {depth} steps inside each other, those of the variables that it \
         names included, and {nesting} levels of brackets"
    );
    let finding = source.error(&diagnostic::EXPRESSION_SIZE, node.at(), message);
    finding.with_help("cut a long one into `variables`; of a deep one let fewer steps build on each other")
}

/// Diagnostics of `findings` in the text of `node`. The first `places` point to their place in the text, the others to its
/// start.
fn diagnostics(
    source: &Arc<Source>,
    node: &Node,
    (places, total): (usize, &SharedBudget),
    findings: Vec<Finding>,
) -> Vec<Diagnostic> {
    let start = Position { line: node.at().line.saturating_sub(source.lines_before), ..node.at() };
    let text = node.as_text().unwrap_or_default();
    let place = |index: usize, offset: usize| {
        if index >= places || total.look_through(source.text.len()).is_err() {
            return node.at();
        }
        let place = locate::locate(&source.text, start, text, offset);
        Position { line: place.line + source.lines_before, ..place }
    };
    let diagnostics = findings.into_iter().take(MAX_FINDINGS).enumerate().map(|(index, finding)| {
        let diagnostic = source.error(finding.code, place(index, finding.at), finding.message);
        if finding.help.is_empty() { diagnostic } else { diagnostic.with_help(finding.help) }
    });
    diagnostics.collect()
}

#[cfg(test)]
mod tests;
