//! The value that a rule adds: a typed fragment of a pod.

use std::sync::Arc;

use crate::expression::Expression;
use crate::pod;
use crate::yaml::{write_items, write_quoted};

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
        Self::Map(members.into_iter().map(|(name, value)| Member::known(name, value)).collect())
    }

    /// Adds the member `name` to a map, unless the map has it.
    pub(crate) fn add_default(&mut self, name: &str, value: Self) {
        if let Self::Map(members) = self
            && members.iter().all(|member| member.name != name)
        {
            members.push(Member::known(name, value));
        }
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

    /// The items of the list `name`.
    pub(crate) fn items_of(&self, name: &str) -> &[Overlay] {
        self.get(name).map(Self::items).unwrap_or_default()
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
        self.contains(&|value| matches!(value, Self::Expression(_) | Self::Loop(_)))
    }

    /// Whether `is_wanted` holds for it or for a value within it.
    // Recursion is bounded by the depth of the rule's document.
    pub(crate) fn contains(&self, is_wanted: &impl Fn(&Self) -> bool) -> bool {
        is_wanted(self)
            || match self {
                Self::List(items) => items.iter().any(|item| item.contains(is_wanted)),
                Self::Map(members) => members.iter().any(|member| member.value.contains(is_wanted)),
                Self::Loop(repeated) => repeated.item.contains(is_wanted),
                Self::Text(_) | Self::Literal(_) | Self::Expression(_) => false,
            }
    }

    /// A copy in which `replacement` takes the place of each value for which it returns one.
    // Recursion is bounded by the depth of the rule's document.
    pub(crate) fn replaced(&self, replacement: &impl Fn(&Self) -> Option<Self>) -> Self {
        replacement(self).unwrap_or_else(|| match self {
            Self::List(items) => Self::List(items.iter().map(|item| item.replaced(replacement)).collect()),
            Self::Map(members) => {
                Self::Map(members.iter().map(|member| member.replaced(replacement)).collect())
            }
            Self::Text(_) | Self::Literal(_) | Self::Expression(_) | Self::Loop(_) => self.clone(),
        })
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

    /// Whether leaving out the member `name` means the same as this value.
    pub(crate) fn is_default(&self, name: &str) -> bool {
        match self {
            Self::Text(text) => pod::is_default_text(name, text),
            Self::Literal(json) => pod::is_default_literal(name, json),
            Self::List(_) | Self::Map(_) | Self::Expression(_) | Self::Loop(_) => false,
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
                let items = items.iter().filter(|item| !matches!(item, Self::Expression(_)));
                write_items(json, ['[', ']'], items, |json, item| item.write_json(json));
            }
            Self::Map(members) => {
                let members = members.iter().filter(|member| !matches!(member.value, Self::Expression(_)));
                write_items(json, ['{', '}'], members, |json, member| {
                    write_quoted(json, &member.name);
                    json.push(':');
                    member.value.write_json(json);
                });
            }
        }
    }
}

impl Member {
    /// A member that the schema knows.
    pub(crate) fn known(name: impl Into<String>, value: Overlay) -> Self {
        Self { name: name.into(), value, known: true }
    }

    fn replaced(&self, replacement: &impl Fn(&Overlay) -> Option<Overlay>) -> Self {
        Self { name: self.name.clone(), value: self.value.replaced(replacement), known: self.known }
    }
}
