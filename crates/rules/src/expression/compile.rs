//! Compiles the text of an expression, and reports its errors with their places.

use std::sync::Arc;

use super::check::{Checker, Declared, Finding};
use super::compiled::Expression;
use super::types::{Mismatch, Type};
use super::{locate, parse};
use crate::diagnostic::{self, Diagnostic, MAX_FINDINGS, Position, Source};
use crate::yaml::Node;

impl Expression {
    /// Compiles the text of `node` for the field `field` of a rule with the names `declared`, and reports its first part with
    /// a wrong type. The first `places` findings get their place within the text, which costs a search in the source.
    pub(crate) fn compile(
        source: &Arc<Source>,
        node: &Node,
        field: &str,
        declared: Declared<'_>,
        places: usize,
    ) -> Result<(Self, Option<Mismatch>), Vec<Diagnostic>> {
        let text = node.as_text().unwrap_or_default();
        declared.total.spend(text.len()).map_err(|error| {
            vec![source.finding(&diagnostic::EXPRESSION_SIZE, node.at(), error.sentence())]
        })?;
        let mut checker = Checker::new(declared);
        let parsed = parse::parse(text).map(|mut tree| {
            let result = checker.type_of(&mut tree);
            (tree, result)
        });
        let (depth, reads, mut findings) = (checker.deepest, checker.reads, checker.findings);
        match parsed {
            Ok((tree, result)) if findings.is_empty() && depth <= parse::MAX_DEPTH => {
                let result = if checker.mismatch.is_some() { Type::Any } else { result };
                let (at, field) = (node.at(), field.to_owned());
                let tree = Arc::new(tree);
                let expression = Self {
                    tree,
                    depth,
                    at,
                    field,
                    result,
                    is_key: false,
                    gives_map: false,
                    gives_parts: false,
                    each: None,
                    reads,
                };
                return Ok((expression, checker.mismatch));
            }
            Err(parse::SyntaxError { at, message: Some(message) }) => {
                findings.push(Finding {
                    code: &diagnostic::EXPRESSION_SYNTAX,
                    at,
                    message,
                    help: String::new(),
                });
            }
            Ok(_) | Err(_) => {}
        }
        if findings.is_empty() {
            return Err(vec![too_large(source, node)]);
        }
        let start = Position { line: node.at().line.saturating_sub(source.lines_before), ..node.at() };
        let diagnostic = |(index, finding): (usize, Finding)| {
            let mut at = node.at();
            if index < places && declared.total.look_through(source.text.len()).is_ok() {
                at = locate::locate(&source.text, start, text, finding.at);
                at.line += source.lines_before;
            }
            source.finding(finding.code, at, finding.message).with_help(finding.help)
        };
        Err(findings.into_iter().take(MAX_FINDINGS).enumerate().map(diagnostic).collect())
    }
}

fn too_large(source: &Arc<Source>, node: &Node) -> Diagnostic {
    let (length, depth, nesting) = (parse::MAX_LENGTH, parse::MAX_DEPTH, parse::MAX_NESTING);
    let message = format!(
        "an expression has at most {length} bytes, {depth} steps inside each other, those of the variables that it \
         names included, and {nesting} levels of brackets"
    );
    let finding = source.finding(&diagnostic::EXPRESSION_SIZE, node.at(), message);
    finding.with_help("cut a long one into `variables`; of a deep one let fewer steps build on each other")
}
