//! Checks the type of an expression against its place: a condition, or a field.

use super::compiled::Expression;
use super::result::overlay;
use super::types::{Mismatch, Type};
use crate::overlay::Overlay;

impl Expression {
    /// An example of its values, where all of them have the same type. Of an optional it is the content.
    pub(crate) fn sample(&self) -> Option<Overlay> {
        // No check of a text's content applies to an example.
        match text_example(&self.result) {
            Some(text) => Some(text),
            None => overlay(&self.result.sample()?, &self.field).ok().flatten(),
        }
    }

    /// Why it cannot be a condition.
    pub(crate) fn condition_mismatch(&self) -> Option<Mismatch> {
        let given = match &self.result {
            Type::Any | Type::Never | Type::Bool => return None,
            given => given.words(),
        };
        Some(Mismatch { message: format!("a condition is true or false, and this is {given}"), help: "" })
    }

    /// Why its field can hold none of its values.
    pub(crate) fn field_mismatch(&self) -> Option<Mismatch> {
        let message =
            |kind: &str| format!("an expression gives single values and lists of them, and this is {kind}");
        let sentence = match &self.result {
            given if text_example(given).is_some() => return None,
            given @ (Type::Opaque | Type::Duration) => message(given.words()),
            given => overlay(&given.sample()?, &self.field).err()?.sentence(),
        };
        let message = sentence.split_once("; ").map_or(sentence.as_str(), |(message, _)| message).to_owned();
        let single = !matches!(self.result, Type::Map | Type::Null | Type::List(_) | Type::Optional(_));
        Some(Mismatch { message, help: if single { "string" } else { "" } })
    }
}

/// An example of a text, of a list of texts, or of an optional text.
fn text_example(result: &Type) -> Option<Overlay> {
    match result {
        Type::Text => Some(Overlay::Text("x".to_owned())),
        Type::List(item) => text_example(item).map(|item| Overlay::List(vec![item])),
        Type::Optional(inner) => text_example(inner),
        _ => None,
    }
}
