//! Reads expressions: `matchConditions`, `variables`, and `{$cel: ...}` in place of a value.

use std::sync::Arc;

use vestibule_patch::{List, Schema};

use super::reader::Reader;
use crate::diagnostic::{
    DUPLICATE_NAME, EXPRESSION_PLACE, EXPRESSION_SIZE, EXPRESSION_TYPE, MAX_FINDINGS, Position, Severity,
    UNKNOWN_FIELD, UNKNOWN_KEYWORD,
};
use crate::did_you_mean::did_you_mean;
use crate::expression::{Declared, Expression, Mismatch, Variable};
use crate::format;
use crate::logic::Condition;
use crate::overlay::Overlay;
use crate::pod;
use crate::pod_types::unknown_member;
use crate::syntax;
use crate::yaml::{Entry, Node};

/// The only key of a map that is an expression.
const KEYWORD: &str = "$cel";

/// The maximum number of parameters, and of variables, of a rule: each expression is compared with all of them.
pub(super) const MAX_NAMES: usize = 256;

/// The help for an expression of a key that reads more than a key may.
pub(super) const KNOWN_BEFORE: &str = "the key must be known before rules change the object: it may read parameters, `owner`, `namespaceObject`, the other members of `request`, and variables that read only these";

pub(super) const FOR_EACH_ITEM: &str = "repeat an item of it with `forEach`";

/// The maximum number of conditions of a rule, as in the API server.
const MAX_CONDITIONS: usize = 64;

/// Whether the author of a node meant an expression.
pub(super) fn is_expression(node: &Node) -> bool {
    node.as_map().is_some_and(|entries| entries.iter().any(|entry| entry.key.starts_with('$')))
}

impl Reader {
    /// `parameters`, `variables` and `matchConditions`.
    pub(super) fn declarations(&mut self, spec: &Node) {
        self.parameters(spec);
        for node in spec.items("variables") {
            if self.logic.variables.len() >= MAX_NAMES {
                let message = format!("a rule has at most {MAX_NAMES} variables");
                self.error(&EXPRESSION_SIZE, node.at(), message, "");
                break;
            }
            self.fields(node, &format::VARIABLE);
            let name = self.identifier(node);
            // A variable with the former name of the field is declared, so that its readers are not reported as well.
            let expression = node.get("expression").or_else(|| node.get("expr"));
            if let (Some(name), Some(node)) = (name, expression) {
                if self.logic.variables.iter().any(|variable| variable.name == name) {
                    let message = format!("variable `{name}` exists already");
                    self.error(&DUPLICATE_NAME, node.at(), message, "");
                }
                if let Some(expression) = self.compiled(node, "expression") {
                    self.logic.variables.push(Variable { name, expression });
                }
            }
        }
        for node in spec.items("matchConditions") {
            if self.logic.conditions.len() >= MAX_CONDITIONS {
                let message = format!("a rule has at most {MAX_CONDITIONS} conditions");
                self.error(&EXPRESSION_SIZE, node.at(), message, "");
                break;
            }
            self.fields(node, &format::CONDITION);
            self.condition(node);
        }
    }

    fn condition(&mut self, node: &Node) {
        if let Some((at, name)) = node.get("name").and_then(|found| Some((found.at(), node.text("name")?))) {
            let message = "the API server would refuse this name of a condition";
            self.check_format(syntax::label_key(name), message, at);
            let clause: Arc<str> = format!("matchConditions[{name}]").into();
            if self.logic.conditions.iter().any(|other| other.clause == clause) {
                self.error(&DUPLICATE_NAME, at, format!("condition `{name}` exists already"), "");
            }
            let Some(node) = node.get("expression") else { return };
            let Some(expression) = self.compiled(node, "expression") else { return };
            if let Some(mismatch) = expression.condition_mismatch() {
                self.report_mismatch(node, &mismatch);
            }
            self.logic.conditions.push(Condition { clause, expression });
        }
    }

    /// The `name` of a parameter or variable, if expressions can use it.
    pub(super) fn identifier(&mut self, declared: &Node) -> Option<String> {
        let (node, name) = (declared.get("name")?, declared.text("name")?);
        let fine = name.len() <= 63
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let wanted = "at most 63 letters, digits and `_`, and no digit first";
        let check = fine.then_some(()).ok_or(wanted);
        self.check_format(check, "expressions cannot use this `name`", node.at()).then(|| name.to_owned())
    }

    /// Reads `{$cel: ...}` as the value of the field `name`.
    pub(super) fn expression(&mut self, node: &Node, name: &str, schema: Schema<'_>) -> Option<Overlay> {
        let entries = node.as_map().unwrap_or_default();
        let value = match entries {
            [Entry { key, value, .. }] if key == KEYWORD => value,
            _ => {
                let others = entries.iter().filter(|entry| entry.key != KEYWORD);
                others.for_each(|entry| self.unknown_keyword(entry));
                return None;
            }
        };
        let is_list_of_items = schema.list() != List::Unknown && !schema.item().fields().is_empty()
            || matches!(schema.list(), List::Map(_));
        let is_map = !schema.fields().is_empty() || pod::is_text_map(name);
        if is_list_of_items {
            return self.refuse_structured(node, name, FOR_EACH_ITEM);
        }
        // The text of a rule of a namespace shows which fields it adds.
        if is_map && self.namespaced {
            return self.refuse_structured(node, name, "write expressions for single values within it");
        }
        let found = self.expression_value(value, name, is_map)?;
        if let Overlay::Expression(expression) = &found
            && let Some(sample) = expression.sample()
            && let Some((of, member)) = unknown_member(&sample, name, schema)
        {
            let sentence = format!("`{of}` has no field `{member}`");
            self.error(&UNKNOWN_FIELD, value.at(), sentence, "");
        }
        Some(found)
    }

    /// Reports an expression for an item of a list, or for a whole list of items.
    pub(super) fn refuse_structured(&mut self, node: &Node, name: &str, help: &str) -> Option<Overlay> {
        let message = format!("`{name}` has a structure of its own, which an expression cannot return");
        self.error(&EXPRESSION_PLACE, node.at(), message, help);
        None
    }

    /// The members of a map of text; each value may be an expression.
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
                self.expression_value(value, what, false)
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
        let message = format!("`{}` is not allowed here", entry.key);
        let help = did_you_mean(&entry.key, [KEYWORD]).filter(|_| entry.key != KEYWORD);
        let other = || format!("an expression is a map with the one key `{KEYWORD}`, in place of a value");
        self.error(&UNKNOWN_KEYWORD, entry.at, message, help.unwrap_or_else(other));
    }

    /// Reports expressions in the merge keys of a list item that read values which rules may change.
    pub(super) fn computed_keys(&mut self, item: &mut Overlay, list: &str, how: List) {
        let (Overlay::Map(members), Some(keys)) = (item, pod::item_keys(list, how)) else { return };
        for member in members.iter_mut().filter(|member| keys.iter().any(|key| key.name == member.name)) {
            let Overlay::Expression(expression) = &mut member.value else { continue };
            self.logic.computes_keys = true;
            if expression.reads.object && matches!(how, List::Map(_)) {
                let name = &member.name;
                let message = format!(
                    "`{name}` is a key of `{list}`, and this expression reads the object, which rules change"
                );
                self.error(&EXPRESSION_PLACE, expression.at, message, KNOWN_BEFORE);
            } else {
                Arc::make_mut(expression).is_key = true;
            }
        }
    }

    /// Makes `expression` give the members of the map `name`, which are parts of the rule. Their keys are keys of the pod.
    pub(super) fn gives_parts(&mut self, expression: &Expression, name: &str) -> Overlay {
        self.logic.computes_keys = true;
        if expression.reads.object {
            let message = format!(
                "the members of `{name}` are merged one by one, and this expression reads the object, which rules change"
            );
            self.error(&EXPRESSION_PLACE, expression.at, message, KNOWN_BEFORE);
        }
        let mut expression = expression.clone();
        expression.gives_parts = true;
        Overlay::Expression(Arc::new(expression))
    }

    fn expression_value(&mut self, node: &Node, name: &str, gives_map: bool) -> Option<Overlay> {
        let mut expression = self.compiled(node, name)?;
        expression.gives_map = gives_map;
        // A computed object may have lists with keys.
        self.logic.computes_keys |= gives_map;
        if let Some(mismatch) = expression.field_mismatch() {
            self.report_mismatch(node, &mismatch);
        }
        self.logic.dynamic = true;
        Some(Overlay::Expression(Arc::new(expression)))
    }

    pub(super) fn compiled(&mut self, node: &Node, name: &str) -> Option<Expression> {
        self.text(node, "an expression")?;
        // The document is refused already, and further findings would not be shown.
        if self.findings.len() > MAX_FINDINGS
            && self.findings.last().is_some_and(|last| last.severity() == Severity::Error)
        {
            return None;
        }
        let parameters = self.logic.parameters.iter();
        let parameters: Vec<_> =
            parameters.map(|parameter| (parameter.name.as_str(), parameter.expression_type())).collect();
        let (variables, total) = (&self.logic.variables, &self.total);
        let declared = Declared { parameters: &parameters, variables, each: self.each.as_ref(), total };
        let places = MAX_FINDINGS.saturating_sub(self.findings.len());
        match Expression::compile(&self.source, node, name, declared, places) {
            Ok((expression, mismatch)) => {
                if let Some(mismatch) = mismatch {
                    self.report_mismatch(node, &mismatch);
                }
                self.logic.reads.add(expression.reads);
                Some(expression)
            }
            Err(findings) => {
                self.findings.extend(findings);
                None
            }
        }
    }

    /// Reports an expression that fails for every object. If the help is the name of a function, the message shows
    /// the expression as its argument.
    pub(super) fn report_mismatch(&mut self, node: &Node, Mismatch { message, help }: &Mismatch) {
        /// Longer expressions are not repeated in the help.
        const SHORT: usize = 60;
        let text = node.as_text().unwrap_or_default();
        let is_function = !help.is_empty() && help.bytes().all(|byte| byte.is_ascii_lowercase());
        let help = match help {
            function if is_function && text.len() <= SHORT && !text.contains(['\'', '"', '\n']) => {
                format!("write `{function}({text})`")
            }
            function if is_function => format!("write `{function}(...)` around it"),
            help => (*help).to_owned(),
        };
        self.error(&EXPRESSION_TYPE, node.at(), message.as_str(), help);
    }

    /// Reports an expression whose values never have the type that the API server expects.
    pub(super) fn report_mismatch_in_place(&mut self, node: &Node, message: String, help: &'static str) {
        let written = node.as_map().and_then(|entries| entries.first()).map_or(node, |entry| &entry.value);
        self.report_mismatch(written, &Mismatch { message, help });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Source;
    use crate::expression::SharedBudget;

    /// The ticks that reading a rule's expressions costs, and how many findings there are.
    fn cost(expression: &str) -> (u64, usize) {
        let quoted = serde_json::Value::from(expression).to_string();
        let label = |number: usize| format!("l{number}: {{$cel: {quoted}}}");
        let count = (1 << 20) / (label(10_000).len() + 2);
        let yaml = format!("pod: {{labels: {{{}}}}}", (0..count).map(label).collect::<Vec<_>>().join(", "));
        let documents = crate::yaml::read("a.yaml", &yaml).unwrap();
        let source = Arc::new(Source { name: "a.yaml".into(), text: yaml.clone(), lines_before: 0 });
        let total = SharedBudget::of_a_load();
        let mut reader = Reader::new(source, true, total.clone());
        reader.pod_metadata(documents[0].root());
        (total.spent(), reader.findings.len())
    }

    /// The figures are in `docs/reference/expressions.md`.
    #[test]
    fn a_mebibyte_of_expressions_stays_within_its_budget() {
        for (expression, ticks) in [
            ("'a'", 70_000),
            ("x", 500_000),
            ("1 +", 500_000),
            ("'a'.startWith('a')", 500_000),
            (r"'a'.matches(r'\pL')", 4_000_000),
            (r"'a'.matches(r'(((\w{9}){9}){9}){9}')", 4_000_000),
        ] {
            let (spent, findings) = cost(expression);
            assert!(spent <= ticks, "{expression}: {spent} ticks");
            assert!(findings <= 2 * MAX_FINDINGS, "{expression}: {findings} findings");
        }
    }
}
