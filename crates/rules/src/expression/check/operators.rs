//! The types of operators.

use super::Checker;
use crate::expression::operators::Operator;
use crate::expression::tree::Node;
use crate::expression::types::{Argument, Type};

impl Checker<'_> {
    pub(super) fn negative(&mut self, one: &mut Node) -> Type {
        match self.type_of(one) {
            number @ (Type::Int | Type::Double | Type::Any | Type::Never) => number,
            known => self.mistyped(format!("{} has no negative", known.words()), ""),
        }
    }

    pub(super) fn binary(&mut self, operator: Operator, [one, other]: &mut [Node; 2]) -> Type {
        let entry = self.entry_of(one);
        let (one, other) = (self.type_of(one), self.type_of(other));
        match operator {
            Operator::Index => self.at(one, &other, entry),
            Operator::OptionalIndex => match self.at(one, &other, entry) {
                Type::Optional(inner) => Type::Optional(inner),
                found => Type::optional(found),
            },
            Operator::Equal | Operator::NotEqual => Type::Bool,
            Operator::In => {
                if !matches!(other, Type::List(_) | Type::Map(_) | Type::Any | Type::Never) {
                    self.mistyped(format!("`in` asks a list or a map, and this is {}", other.words()), "");
                }
                Type::Bool
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                if let (Some(here), Some(there)) = (order(&one), order(&other))
                    && here != there
                {
                    let message = format!("{} and {} have no order", one.words(), other.words());
                    self.mistyped(message, conversion_help(&one, &other));
                }
                Type::Bool
            }
            _ => self.arithmetic(operator, one, other),
        }
    }

    fn arithmetic(&mut self, operator: Operator, one: Type, other: Type) -> Type {
        let adds = operator == Operator::Add;
        match (one, other) {
            (Type::Any | Type::Never, Type::List(_)) | (Type::List(_), Type::Any | Type::Never) if adds => {
                Type::list(Type::Any)
            }
            (Type::Any | Type::Never, Type::Any | Type::Never) => Type::Any,
            (Type::Any | Type::Never, known) | (known, Type::Any | Type::Never)
                if has_operator(operator, &known) =>
            {
                known
            }
            (Type::List(one), Type::List(other)) if adds => Type::list(one.or(*other)),
            (one, other) if one == other && has_operator(operator, &one) => one,
            (one, other) => {
                let message =
                    format!("{} and {} cannot be added, subtracted and so on", one.words(), other.words());
                let help = match (&one, &other) {
                    (Type::Opaque, _) | (_, Type::Opaque) => "of quantities, `add()` and `sub()` do it",
                    _ if adds => conversion_help(&one, &other),
                    _ => "",
                };
                self.mistyped(message, help)
            }
        }
    }

    /// The type of `one[key]`; `entry` is the type of the entries of `one` if it is a map.
    fn at(&mut self, one: Type, key: &Type, entry: Type) -> Type {
        match one {
            Type::List(item) => {
                self.want(Argument::Int, key, "the place in a list");
                *item
            }
            Type::Optional(_) => Type::optional(entry),
            Type::Any | Type::Never | Type::Map(_) => entry,
            known => self.mistyped(format!("{} has nothing under a key", known.words()), ""),
        }
    }
}

/// Types with the same number can be compared by `<`.
fn order(of: &Type) -> Option<u8> {
    match of {
        Type::Int | Type::Uint | Type::Double => Some(0),
        Type::Text => Some(1),
        Type::Bool => Some(2),
        Type::Duration => Some(3),
        _ => None,
    }
}

fn has_operator(operator: Operator, known: &Type) -> bool {
    match known {
        Type::Int | Type::Uint => true,
        Type::Double => operator != Operator::Modulo,
        Type::Duration => matches!(operator, Operator::Add | Operator::Subtract),
        Type::Text => operator == Operator::Add,
        _ => false,
    }
}

/// How to convert a number and a text for one operator.
fn conversion_help(one: &Type, other: &Type) -> &'static str {
    match (one, other) {
        (Type::Text, Type::Int | Type::Uint | Type::Double | Type::Bool)
        | (Type::Int | Type::Uint | Type::Double | Type::Bool, Type::Text) => {
            "`string()` makes text of a number, `int()` a number of text"
        }
        _ => "",
    }
}
