//! Expressions of the Common Expression Language: compiled when rules are read, evaluated for an object.
//!
//! The syntax tree, values and most functions are the library's; parsing (docs/adr/0060) and evaluation (docs/adr/0027)
//! are ours.

mod budget;
mod current;
mod functions;
mod interpret;
mod lint;
mod locate;
mod parse;
mod quantity;
mod requirements;
mod scope;
mod types;
mod values;

use std::fmt;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::IdedExpr;

use crate::diagnostic::{self, Diagnostic, MAX_FINDINGS, Position, Source};
use crate::overlay::Overlay;
use crate::yaml::Node;
pub(crate) use budget::Total;
pub(crate) use current::Current;
pub(crate) use functions::Pattern;
use interpret::Interpreter;
pub(crate) use lint::Declared;
use lint::{Finding, Lint};
pub(crate) use requirements::{ITEM, Requirement};
pub(crate) use scope::{Scope, Surroundings};
pub(crate) use types::Mismatch;
use types::Type;
pub(crate) use values::text;

/// A compiled expression. It may hold a secret of the rule's author, so there is no `Debug`.
#[derive(Clone)]
pub(crate) struct Expression {
    tree: IdedExpr,
    /// How many steps stand inside each other, those of the variables that it names included.
    depth: usize,
    pub(crate) at: Position,
    /// The field that gets its value.
    field: String,
    /// The kind of its values, as far as it is known.
    gives: Type,
    /// Whether it tells the items of a list apart.
    pub(crate) is_key: bool,
    /// Whether the object as it is becoming decides about its value.
    pub(crate) reads_object: bool,
    /// Whether it asks for the labels and annotations of the namespace.
    pub(crate) reads_namespace: bool,
    /// Whether it may ask what the owner is called.
    pub(crate) reads_owner_name: bool,
}

/// A named expression of a rule.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expression: Expression,
}

/// Why an expression has no value. Its words name parts of the expression, never values.
#[derive(Clone)]
pub(crate) enum Trouble {
    Failed(String),
    /// It would cost too much.
    Exhausted {
        /// Whether the expressions of all rules did, and not those of one.
        together: bool,
        ticks: u64,
    },
}

impl Expression {
    /// Compiles the text in `node` for the field `field`, whose rule declares the names `declared`. At most `places`
    /// findings are told by where they stand within the text, which has to be looked for in the source.
    pub(crate) fn compile(
        source: &Arc<Source>,
        node: &Node,
        field: &str,
        declared: Declared<'_>,
        places: usize,
    ) -> Result<Self, Vec<Diagnostic>> {
        let text = node.as_text().unwrap_or_default();
        let too_much = |trouble: Trouble| {
            vec![source.error(&diagnostic::EXPRESSION_SIZE, node.at(), trouble.sentence())]
        };
        declared.total.spend(text.len()).map_err(too_much)?;
        let tree = parse::parse(text).map_err(|refused| match refused.message {
            Some(message) => {
                let (code, help) = (&diagnostic::EXPRESSION_SYNTAX, String::new());
                located(
                    source,
                    node,
                    (places, declared.total),
                    vec![Finding { code, at: refused.at, message, help }],
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
            let (depth, gives, is_key) = (deepest, Type::Any, false);
            return Ok(Self {
                tree,
                depth,
                at,
                field,
                gives,
                is_key,
                reads_object,
                reads_namespace,
                reads_owner_name,
            });
        }
        Err(located(source, node, (places, declared.total), findings))
    }

    /// Whether it holds.
    pub(crate) fn holds(&self, scope: &Scope<'_>) -> Result<bool, Trouble> {
        match Interpreter::new(scope).value(&self.tree)? {
            Value::Bool(truth) => Ok(truth),
            other => {
                let found = values::kind(&other);
                Err(Trouble::failed(format!("a condition is true or false, and this is {found}")))
            }
        }
    }

    /// What its field gets; `None` leaves the field out.
    pub(crate) fn overlay(&self, scope: &Scope<'_>) -> Result<Option<Overlay>, Trouble> {
        let value = Interpreter::new(scope).value(&self.tree)?;
        scope.budget.read(&value)?;
        let overlay = values::overlay(&value, &self.field)?;
        match overlay {
            None | Some(Overlay::List(_)) if self.is_key => Err(Trouble::failed(format!(
                "`{}` tells the items of a list apart, so it needs a single value",
                self.field
            ))),
            overlay => Ok(overlay),
        }
    }
}

impl Trouble {
    fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    fn within(self, variable: &str) -> Self {
        match self {
            Self::Failed(sentence) => Self::Failed(format!("variable `{variable}`: {sentence}")),
            exhausted @ Self::Exhausted { .. } => exhausted,
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Failed(sentence) => sentence.clone(),
            Self::Exhausted { together: false, ticks } => {
                format!("the expressions of the rule need more than {ticks} ticks")
            }
            Self::Exhausted { together: true, ticks } => {
                format!("the expressions of all rules together need more than {ticks} ticks")
            }
        }
    }
}

impl fmt::Debug for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence())
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

/// What was found in the text of `node`; the first `places` of it with the place, which is looked for in the source, the
/// others where the text begins.
fn located(
    source: &Arc<Source>,
    node: &Node,
    (places, total): (usize, &Total),
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
    let told = findings.into_iter().take(MAX_FINDINGS).enumerate().map(|(index, finding)| {
        let told = source.error(finding.code, place(index, finding.at), finding.message);
        if finding.help.is_empty() { told } else { told.with_help(finding.help) }
    });
    told.collect()
}

#[cfg(test)]
mod tests;
