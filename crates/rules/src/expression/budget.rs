//! What an evaluation may cost. There is no clock here: steps and bytes are counted.

use std::cell::Cell;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use super::functions::address_length;
use super::values::as_optional;
use super::{Trouble, quantity};

/// What the expressions of one rule may use up each time it is asked: turns of loops. What else costs counts as parts
/// of a turn.
pub(crate) const TICKS: u64 = 100_000;

/// What a turn of a loop costs. A step of an evaluation costs one.
const TURN: usize = 16;

/// The bytes that cost as much as a step.
const BYTES: usize = 32;

/// The longest text that an expression may make on its way.
const MAX_TEXT: usize = 1024 * 1024;

/// How deep lists and maps may nest.
const MAX_DEPTH: usize = 160;

/// What is left.
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(Cell::new(TICKS * TURN as u64))
    }

    /// Uses up `steps`.
    pub(super) fn spend(&self, steps: usize) -> Result<(), Trouble> {
        let left = self.0.get().checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.0.set(left.unwrap_or_default());
        left.map(drop).ok_or(Trouble::Exhausted)
    }

    pub(super) fn turn(&self) -> Result<(), Trouble> {
        self.spend(TURN)
    }

    /// Uses up what going through `value` costs if it is a text or an address; whoever goes through the items of a list
    /// counts those.
    pub(super) fn single(&self, value: &Value) -> Result<(), Trouble> {
        self.spend(length(value) / BYTES)
    }

    /// Uses up what a text of `bytes` costs, and refuses one that is too long.
    pub(super) fn text(&self, bytes: usize) -> Result<(), Trouble> {
        fits(bytes)?;
        self.spend(1 + bytes / BYTES)
    }

    /// Uses up what reading all of `value` costs, and answers how much that is. Values share their parts, so that few of
    /// them may unfold to very many: the count ends when the budget does.
    pub(super) fn read(&self, value: &Value) -> Result<usize, Trouble> {
        self.read_below(value, 0)
    }

    // Recursion is bounded by MAX_DEPTH.
    fn read_below(&self, value: &Value, depth: usize) -> Result<usize, Trouble> {
        if depth > MAX_DEPTH {
            return Err(Trouble::failed("lists and maps nest too deeply"));
        }
        let own = 1 + length(value) / BYTES;
        let mut steps = own;
        match value {
            Value::List(items) => {
                for item in items.iter() {
                    steps += self.read_below(item, depth + 1)?;
                }
            }
            Value::Map(map) => {
                for (key, member) in map.map.iter() {
                    let key = if let Key::String(text) = key { text.len() / BYTES } else { 0 };
                    self.spend(1 + key)?;
                    steps += 1 + key + self.read_below(member, depth + 1)?;
                }
            }
            Value::Opaque(_) => {
                if let Some(Some(inner)) = as_optional(value) {
                    steps += self.read_below(inner, depth + 1)?;
                }
            }
            _ => {}
        }
        self.spend(own)?;
        Ok(steps)
    }
}

/// Refuses a text of so many bytes if it is too long.
pub(super) fn fits(bytes: usize) -> Result<(), Trouble> {
    if bytes > MAX_TEXT {
        return Err(Trouble::failed(format!("a text of more than {MAX_TEXT} bytes")));
    }
    Ok(())
}

/// The bytes of `value` itself. An address is as long as its text, an amount as its digits.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => address_length(value).max(quantity::length(value)),
    }
}
