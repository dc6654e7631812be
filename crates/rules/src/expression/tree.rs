//! The syntax tree of an expression: `parse` builds it, and `check` finds the functions that it calls.

use kube_cel::cel::Value;

use super::functions::Function;
use super::operators::Operator;

/// A part of an expression.
#[derive(Clone)]
pub(super) struct Node {
    /// The byte of the expression at which it is written.
    pub(super) at: usize,
    /// How many steps stand inside each other. Every walk over the tree recurses as deep.
    pub(super) depth: usize,
    pub(super) part: Part,
}

#[derive(Clone)]
pub(super) enum Part {
    Literal(Value),
    Name(String),
    Field {
        of: Box<Node>,
        name: String,
        access: Access,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary(Operator, Box<[Node; 2]>),
    /// `a || b`, which true decides, and `a && b`, which false decides.
    Logical {
        deciding: bool,
        sides: Box<[Node; 2]>,
    },
    /// `condition ? one : other`
    Choice(Box<[Node; 3]>),
    List(Vec<Item>),
    Map(Vec<Entry>),
    Call(Call),
    Loop(Box<Loop>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// `value.name`
    Required,
    /// `value.?name`
    Optional,
    /// `has(value.name)`
    Test,
}

/// An item of a list. An optional item is left out where its value is none.
#[derive(Clone)]
pub(super) struct Item {
    pub(super) optional: bool,
    pub(super) value: Node,
}

/// A member of a map. An optional member is left out where its value is none.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) optional: bool,
    pub(super) key: Node,
    pub(super) value: Node,
}

#[derive(Clone)]
pub(super) struct Call {
    pub(super) name: String,
    /// Whether the first argument is written before the name: a receiver, or a namespace until `check` removes it.
    pub(super) is_method: bool,
    pub(super) arguments: Vec<Node>,
    /// `check` sets it.
    pub(super) function: Option<&'static Function>,
}

/// A macro that evaluates `condition` for each item of `range`.
#[derive(Clone)]
pub(super) struct Loop {
    pub(super) range: Node,
    /// The name of the item.
    pub(super) item: String,
    pub(super) condition: Node,
    pub(super) result: LoopResult,
}

/// The result of a loop.
#[derive(Clone)]
pub(super) enum LoopResult {
    /// `all`: whether the condition holds for every item.
    All,
    /// `exists`: whether it holds for any item.
    Any,
    /// `exists_one`: whether it holds for exactly one item.
    One,
    /// `filter` and `map`: the list of these values, one for each item for which the condition holds.
    List(Node),
}

impl Part {
    /// The parts directly below.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Node> {
        let below: Vec<&Node> = match self {
            Self::Literal(_) | Self::Name(_) => Vec::new(),
            Self::Field { of: one, .. } | Self::Not(one) | Self::Negate(one) => vec![one],
            Self::Binary(_, sides) | Self::Logical { sides, .. } => sides.iter().collect(),
            Self::Choice(parts) => parts.iter().collect(),
            Self::List(items) => items.iter().map(|item| &item.value).collect(),
            Self::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Self::Call(call) => call.arguments.iter().collect(),
            Self::Loop(written) => match &written.result {
                LoopResult::List(value) => vec![&written.range, &written.condition, value],
                LoopResult::All | LoopResult::Any | LoopResult::One => {
                    vec![&written.range, &written.condition]
                }
            },
        };
        below.into_iter()
    }
}

impl Node {
    /// The text, if it is a literal text.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.part {
            Part::Literal(Value::String(text)) => Some(text),
            _ => None,
        }
    }
}
