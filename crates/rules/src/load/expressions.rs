//! Expressions of a rule: `when`, `variables`, and `{$cel: ...}` in place of a value.

use std::sync::Arc;

use vestibule_patch::{Key, List, Schema};

use super::reader::Reader;
use crate::diagnostic::{self, Position};
use crate::expression::{Declared, Expression, Variable};
use crate::format;
use crate::near::nearest;
use crate::overlay::Overlay;
use crate::pod;
use crate::yaml::{Entry, Node};

/// The key that makes an expression of a map.
const KEYWORD: &str = "$cel";

/// Whether a node wants to be an expression.
pub(super) fn is_expression(node: &Node) -> bool {
    node.as_map().is_some_and(|entries| entries.iter().any(|entry| entry.key.starts_with('$')))
}

impl Reader {
    /// `parameters`, `variables` and `when`.
    pub(super) fn declarations(&mut self, spec: &Node) {
        self.parameters(spec);
        for node in spec.get("variables").map(|node| self.list(node, "variables")).unwrap_or_default() {
            self.fields(node, &format::VARIABLE);
            let name = node.get("name").and_then(|name| self.identifier(name));
            if let (Some(name), Some(node)) = (name, node.get("expr")) {
                if self.logic.variables.iter().any(|variable| variable.name == name) {
                    let message = format!("variable `{name}` exists already");
                    self.error(&diagnostic::DOUBLED_NAME, node.at(), message);
                }
                if let Some(expression) = self.compiled(node, "expr") {
                    self.logic.variables.push(Variable { name, expression });
                }
            }
        }
        for node in spec.get("when").map(|node| self.list(node, "when")).unwrap_or_default() {
            let condition = self.compiled(node, "when");
            self.logic.when.extend(condition);
        }
    }

    /// A name that expressions can say.
    pub(super) fn identifier(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "name")?;
        let fine = name.len() <= 63
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let wanted = "at most 63 letters, digits and `_`, and no digit first";
        let check = fine.then_some(()).ok_or(wanted);
        self.fits(check, "expressions cannot say this `name`", node.at()).then(|| name.to_owned())
    }

    /// The value of the field `name` is what `{$cel: ...}` comes to.
    pub(super) fn expression(&mut self, node: &Node, name: &str, schema: Schema<'_>) -> Option<Overlay> {
        let entries = node.as_map().unwrap_or_default();
        let [Entry { key, value, .. }] = entries else {
            for entry in entries.iter().filter(|entry| entry.key != KEYWORD) {
                self.unknown_keyword(entry);
            }
            return None;
        };
        if key != KEYWORD {
            self.unknown_keyword(entries.first()?);
            return None;
        }
        let structured = !schema.fields().is_empty()
            || matches!(schema.list(), List::Map(_))
            || !schema.item().fields().is_empty()
            || pod::is_text_map(name);
        if structured {
            let message = format!("`{name}` has a structure of its own, which no expression gives");
            let help = "write expressions for single values within it";
            self.error_with_help(&diagnostic::EXPRESSION_PLACE, node.at(), message, help);
            return None;
        }
        self.leaf(value, name)
    }

    /// The members of a map of text, which may be expressions.
    pub(super) fn texts_or_expressions(
        &mut self,
        node: &Node,
        what: &str,
    ) -> Vec<(String, Overlay, Position)> {
        let mut members = Vec::new();
        for entry in self.map(node, what) {
            let value = if entry.key.starts_with('$') {
                self.unknown_keyword(entry);
                None
            } else if let Some([Entry { key, value, .. }]) = entry.value.as_map()
                && key == KEYWORD
            {
                self.leaf(value, what)
            } else if is_expression(&entry.value) {
                self.expression(&entry.value, &entry.key, Schema::unknown())
            } else {
                self.text(&entry.value, &entry.key).map(|text| Overlay::Text(text.to_owned()))
            };
            members.extend(value.map(|value| (entry.key.clone(), value, entry.at)));
        }
        members
    }

    pub(super) fn unknown_keyword(&mut self, entry: &Entry) {
        let message = format!("`{}` cannot stand here", entry.key);
        let help = if entry.key != KEYWORD && nearest(&entry.key, [KEYWORD]).is_some() {
            format!("did you mean `{KEYWORD}`?")
        } else {
            format!("an expression is a map with the one key `{KEYWORD}`, in place of a value")
        };
        self.error_with_help(&diagnostic::UNKNOWN_KEYWORD, entry.at, message, help);
    }

    /// Reports expressions in what tells the items of a list apart.
    pub(super) fn fixed_keys(&mut self, items: &[Node], list: &str, keys: &[Key]) {
        for item in items {
            let computed = keys
                .iter()
                .find_map(|key| item.get(key.name).filter(|node| is_expression(node)).zip(Some(key)));
            if let Some((node, key)) = computed {
                let message =
                    format!("`{}` tells the items of `{list}` apart, so it is no expression", key.name);
                self.error(&diagnostic::EXPRESSION_PLACE, node.at(), message);
            }
        }
    }

    fn leaf(&mut self, node: &Node, name: &str) -> Option<Overlay> {
        let expression = self.compiled(node, name)?;
        self.logic.dynamic = true;
        Some(Overlay::Expression(Arc::new(expression)))
    }

    fn compiled(&mut self, node: &Node, name: &str) -> Option<Expression> {
        self.text(node, "an expression")?;
        let parameters: Vec<String> =
            self.logic.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let declared = Declared { parameters: &parameters, variables: &self.logic.variables };
        match Expression::compile(&self.source, node, name, declared) {
            Ok(expression) => {
                self.logic.reads_object |= expression.reads_object;
                self.logic.reads_namespace |= expression.reads_namespace;
                self.logic.reads_owner_name |= expression.reads_owner_name;
                Some(expression)
            }
            Err(findings) => {
                self.findings.extend(findings);
                None
            }
        }
    }
}
