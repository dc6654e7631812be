//! Reads label selectors.

use super::reader::Reader;
use crate::diagnostic::{Position, WRONG_VALUE};
use crate::format::{self, chosen};
use crate::label_selector::{LabelRequirement, LabelSelector, NAMESPACE_NAME};
use crate::label_values::LabelOperator;
use crate::syntax;
use crate::yaml::{Entry, Node};

impl Reader {
    /// The selector at `node`; without one, everything is selected, and `at` is its location.
    pub(super) fn label_selector(&mut self, node: Option<&Node>, at: Position) -> LabelSelector {
        let Some(node) = node else { return LabelSelector::everything(at) };
        self.fields(node, &format::LABEL_SELECTOR);
        let mut requirements = Vec::new();
        if let Some(labels) = node.get("matchLabels") {
            for Entry { key, value, at, .. } in self.map(labels, "matchLabels") {
                let Some(value) = self.text(value, key).map(str::to_owned) else { continue };
                requirements.push(self.label_requirement(key.clone(), LabelOperator::In, vec![value], *at));
            }
        }
        for item in node.items("matchExpressions") {
            self.fields(item, &format::LABEL_REQUIREMENT);
            requirements.extend(self.match_expression(item));
        }
        LabelSelector { at: node.at(), requirements }
    }

    fn match_expression(&mut self, node: &Node) -> Option<LabelRequirement> {
        let key = node.text("key")?.to_owned();
        let operator = chosen(node, "operator", &format::LABEL_OPERATORS)?;
        let values = node.texts("values");
        match (operator, values.is_empty()) {
            (LabelOperator::In | LabelOperator::NotIn, true) => {
                self.error(&WRONG_VALUE, node.at(), "`In` and `NotIn` need `values`", "");
                None
            }
            (LabelOperator::Exists | LabelOperator::DoesNotExist, false) => {
                let help = "leave `values` out";
                self.error(&WRONG_VALUE, node.at(), "`Exists` and `DoesNotExist` have no `values`", help);
                None
            }
            _ => Some(self.label_requirement(key, operator, values, node.at())),
        }
    }

    fn label_requirement(
        &mut self,
        key: String,
        operator: LabelOperator,
        values: Vec<String>,
        at: Position,
    ) -> LabelRequirement {
        self.check_format(syntax::label_key(&key), "no object can have a label with this key", at);
        for value in &values {
            if key == NAMESPACE_NAME {
                self.check_format(syntax::name(value), "no namespace can have this name", at);
            } else {
                let message = format!("no object can have this value of the label `{key}`");
                self.check_format(syntax::label_value(value), &message, at);
            }
        }
        LabelRequirement::new(key, operator, values, at)
    }
}
