//! The macros of the language: loops and `has`.

use kube_cel::cel::Value;

use super::error::SyntaxError;
use super::parser::{Result, node};
use crate::expression::tree::{Access, Call, Loop, LoopResult, Node, Part};

/// The call of `name` at the byte `at`. `target` is the value before the dot.
pub(super) fn call(at: usize, name: &str, target: Option<Node>, arguments: Vec<Node>) -> Result<Node> {
    let is_method = target.is_some();
    let arguments: Vec<Node> = target.into_iter().chain(arguments).collect();
    match (name, is_method, arguments.len()) {
        ("has", false, 1) => has(at, arguments),
        ("all" | "exists" | "exists_one" | "existsOne" | "filter", true, 3) | ("map", true, 3 | 4) => {
            loop_macro(at, name, arguments)
        }
        _ => {
            let name = name.to_owned();
            node(at, Part::Call(Call { name, is_method, arguments, function: None }))
        }
    }
}

fn has(at: usize, mut arguments: Vec<Node>) -> Result<Node> {
    match arguments.pop() {
        Some(Node {
            at, part: Part::Field { of, name, access: Access::Required | Access::Test }, ..
        }) => node(at, Part::Field { of, name, access: Access::Test }),
        asked => Err(SyntaxError::new(
            asked.map_or(at, |asked| asked.at),
            "`has` asks for a field, such as `has(object.metadata.labels)`",
        )),
    }
}

fn loop_macro(at: usize, name: &str, arguments: Vec<Node>) -> Result<Node> {
    let mut arguments = arguments.into_iter();
    let (Some(range), Some(variable), Some(first)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err(SyntaxError::new(at, "an argument is missing"));
    };
    let Part::Name(item) = &variable.part else {
        return Err(SyntaxError::new(variable.at, "the first argument is the name of an item"));
    };
    let item = item.clone();
    let (condition, result) = match (name, arguments.next()) {
        ("all", _) => (first, LoopResult::All),
        ("exists", _) => (first, LoopResult::Any),
        ("filter", _) => (first, LoopResult::List(variable)),
        ("map", Some(value)) => (first, LoopResult::List(value)),
        ("map", None) => (node(at, Part::Literal(Value::Bool(true)))?, LoopResult::List(first)),
        _ => (first, LoopResult::One),
    };
    node(at, Part::Loop(Box::new(Loop { range, item, condition, result })))
}
