//! Compiles the text of an expression, and reports its errors with their places.

use std::sync::Arc;

use super::budget::SharedBudget;
use super::compiled::Expression;
use super::error::EvaluationError;
use super::lint::{Declared, Finding, Lint};
use super::types::Type;
use super::{locate, parse};
use crate::diagnostic::{self, Diagnostic, MAX_FINDINGS, Position, Source};
use crate::yaml::Node;

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
