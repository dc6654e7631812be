//! Checks the type of an expression against its place: a condition, or a field.

use super::compiled::Expression;
use super::error::EvaluationError;
use super::result::{list_in_map, overlay, whole_map};
use super::types::{Argument, Mismatch, Type};
use crate::overlay::Overlay;
use crate::pod;

impl Expression {
    /// An example of its values, where all of them have the same type. Of an optional it is the content.
    pub(crate) fn sample(&self) -> Option<Overlay> {
        match text_example(&self.result) {
            _ if self.gives_map => map_example(&self.result, &self.field).ok().flatten(),
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
            _ if self.gives_map => map_example(&self.result, &self.field).err()?.sentence(),
            given if is_list(given) && pod::is_text_map(&self.field) => list_in_map(&self.field).sentence(),
            given if text_example(given).is_some() => return None,
            given @ (Type::Opaque | Type::Address | Type::Duration) => message(given.words()),
            given => overlay(&given.sample()?, &self.field).err()?.sentence(),
        };
        let message = sentence.split_once("; ").map_or(sentence.as_str(), |(message, _)| message).to_owned();
        let has_text = !self.gives_map && Argument::Single.takes(&self.result);
        Some(Mismatch { message, help: if has_text { "string" } else { "" } })
    }
}

fn is_list(result: &Type) -> bool {
    match result {
        Type::List(_) => true,
        Type::Optional(inner) => is_list(inner),
        _ => false,
    }
}

/// An example of a text, of a list of texts, or of an optional text. No check of a text's content applies to an example.
fn text_example(result: &Type) -> Option<Overlay> {
    match result {
        Type::Text => Some(Overlay::Text("x".to_owned())),
        Type::List(item) => text_example(item).map(|item| Overlay::List(vec![item])),
        Type::Optional(inner) => text_example(inner),
        _ => None,
    }
}

/// An example of the map `name`, with the members whose types are known.
fn map_example(result: &Type, name: &str) -> Result<Option<Overlay>, EvaluationError> {
    match result {
        Type::Any | Type::Never => Ok(None),
        Type::Map(_) => member_example(result, name),
        Type::Optional(inner) => map_example(inner, name),
        other => {
            let message = format!("`{name}` wants a map, and this is {}", other.words());
            other.sample().map_or(Err(EvaluationError::failed(message)), |value| whole_map(&value, name))
        }
    }
}

// Recursion is bounded by the depth that a type may have.
fn member_example(known: &Type, name: &str) -> Result<Option<Overlay>, EvaluationError> {
    match known {
        Type::Text => Ok(text_example(known)),
        Type::List(_) if pod::is_text_map(name) => Err(list_in_map(name)),
        Type::List(item) => Ok(member_example(item, name)?.map(|item| Overlay::List(vec![item]))),
        Type::Optional(inner) => member_example(inner, name),
        Type::Map(members) => {
            let mut found = Vec::new();
            for (member, known) in members {
                let field = if pod::is_text_map(name) { name } else { member };
                found.extend(member_example(known, field)?.map(|value| (member.clone(), value)));
            }
            Ok(Some(Overlay::map(found)))
        }
        other => other.sample().map_or(Ok(None), |value| overlay(&value, name)),
    }
}
