//! The value that a rule adds: a typed fragment of a pod.

use std::sync::Arc;

use crate::expression::Expression;
use crate::yaml::write_quoted;

/// A value that a rule adds. It may be a secret, so there is no `Debug`.
#[derive(Clone)]
pub(crate) enum Overlay {
    Text(String),
    /// A number or boolean, as JSON.
    Literal(String),
    List(Vec<Overlay>),
    /// A value that is computed for each object. A rule that is merged into an object has none left.
    Expression(Arc<Expression>),
    /// An item of a list that is added once for each value of an expression. A rule that is merged has none left.
    Loop(Arc<Loop>),
    Map(Vec<Member>),
}

/// An item with `forEach`.
pub(crate) struct Loop {
    /// The expression that gives the values of `each`.
    pub(crate) over: Expression,
    pub(crate) item: Overlay,
    /// The [`Overlay::size`] of `item`, which is copied for each value.
    pub(crate) size: usize,
}

#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: Overlay,
    /// Whether the schema knows the field. The API server may drop an unknown field, so a missing one does not mean
    /// that the rule has yet to act.
    pub(crate) known: bool,
}

impl Overlay {
    /// A map with these members, marked as known to the schema.
    pub(crate) fn map(members: impl IntoIterator<Item = (String, Overlay)>) -> Self {
        let members = members.into_iter().map(|(name, value)| Member { name, value, known: true });
        Self::Map(members.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Overlay> {
        self.members().iter().find(|member| member.name == name).map(|member| &member.value)
    }

    pub(crate) fn members(&self) -> &[Member] {
        match self {
            Self::Map(members) => members,
            Self::Loop(repeated) => repeated.item.members(),
            Self::Text(_) | Self::Literal(_) | Self::List(_) | Self::Expression(_) => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Overlay] {
        match self {
            Self::List(items) => items,
            Self::Text(_) | Self::Literal(_) | Self::Map(_) | Self::Expression(_) | Self::Loop(_) => &[],
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Literal(_) | Self::List(_) | Self::Map(_) | Self::Expression(_) | Self::Loop(_) => None,
        }
    }

    /// The text of the member `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Self::as_text)
    }

    /// Whether it contains an expression.
    pub(crate) fn is_dynamic(&self) -> bool {
        match self {
            Self::Expression(_) | Self::Loop(_) => true,
            Self::List(items) => items.iter().any(Self::is_dynamic),
            Self::Map(members) => members.iter().any(|member| member.value.is_dynamic()),
            Self::Text(_) | Self::Literal(_) => false,
        }
    }

    /// About the number of bytes that a copy takes.
    pub(crate) fn size(&self) -> usize {
        const OWN: usize = 32;
        OWN + match self {
            Self::Text(text) | Self::Literal(text) => text.len(),
            Self::List(items) => items.iter().map(Self::size).sum(),
            Self::Map(members) => members.iter().map(|member| member.name.len() + member.value.size()).sum(),
            Self::Expression(_) | Self::Loop(_) => OWN,
        }
    }

    /// The value as JSON. Items and members that are expressions are left out, and an item with `forEach` occurs once.
    pub(crate) fn to_json(&self) -> String {
        let mut json = String::new();
        self.write_json(&mut json);
        json
    }

    fn write_json(&self, json: &mut String) {
        match self {
            Self::Text(text) => write_quoted(json, text),
            Self::Literal(literal) => json.push_str(literal),
            Self::Expression(_) => json.push_str("null"),
            Self::Loop(repeated) => repeated.item.write_json(json),
            Self::List(items) => {
                json.push('[');
                let items = items.iter().filter(|item| !matches!(item, Self::Expression(_)));
                for (index, item) in items.enumerate() {
                    json.push_str(if index > 0 { "," } else { "" });
                    item.write_json(json);
                }
                json.push(']');
            }
            Self::Map(members) => {
                json.push('{');
                let members = members.iter().filter(|member| !matches!(member.value, Self::Expression(_)));
                for (index, member) in members.enumerate() {
                    json.push_str(if index > 0 { "," } else { "" });
                    write_quoted(json, &member.name);
                    json.push(':');
                    member.value.write_json(json);
                }
                json.push('}');
            }
        }
    }
}
