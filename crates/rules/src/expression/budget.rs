//! What an evaluation may cost. There is no clock here: steps and bytes are counted.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use super::functions::{Pattern, address_length};
use super::values::{as_optional, is_too_deep};
use super::{Trouble, quantity};

/// What the expressions of one rule may use up each time it is asked: turns of loops. What else costs counts as parts
/// of a turn.
pub(crate) const TICKS: u64 = 100_000;

/// What all expressions and patterns may use up for one object, all rules and all turns counted.
pub(crate) const REQUEST_TICKS: u64 = 2_000_000;

/// What reading the expressions and patterns of all documents may use up.
pub(crate) const LOAD_TICKS: u64 = 4_000_000;

/// What a turn of a loop costs. A step of an evaluation costs one.
const TURN: usize = 16;

/// The bytes that cost as much as a step.
const BYTES: usize = 32;

/// The longest text that an expression may make on its way.
const MAX_TEXT: usize = 1024 * 1024;

/// How deep lists and maps may nest.
const MAX_DEPTH: usize = 160;

/// So many patterns are kept compiled while a rule is asked.
const MAX_PATTERNS: usize = 32;

/// What all that is asked for one object, or for one load, may use up together. Those that share it see what is left.
#[derive(Clone)]
pub(crate) struct Total {
    left: Rc<Cell<u64>>,
    ticks: u64,
}

impl Total {
    /// For one object.
    pub(crate) fn of_a_request() -> Self {
        Self::of(REQUEST_TICKS)
    }

    /// For one load.
    pub(crate) fn of_a_load() -> Self {
        Self::of(LOAD_TICKS)
    }

    fn of(ticks: u64) -> Self {
        Self { left: Rc::new(Cell::new(ticks * TURN as u64)), ticks }
    }

    /// Uses up `steps`.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Trouble> {
        if take(&self.left, steps) {
            Ok(())
        } else {
            Err(Trouble::Exhausted { together: true, ticks: self.ticks })
        }
    }

    /// Uses up what looking through `bytes` costs.
    pub(crate) fn look_through(&self, bytes: usize) -> Result<(), Trouble> {
        self.spend(1 + bytes / BYTES)
    }

    /// The ticks that were used up.
    #[cfg(test)]
    pub(crate) fn spent(&self) -> u64 {
        self.ticks - self.left.get() / TURN as u64
    }
}

/// What is left to the expressions of one rule.
pub(crate) struct Budget {
    left: Cell<u64>,
    total: Total,
    patterns: RefCell<HashMap<String, Rc<Pattern>>>,
}

impl Budget {
    pub(crate) fn new(total: &Total) -> Self {
        Self { left: Cell::new(TICKS * TURN as u64), total: total.clone(), patterns: RefCell::default() }
    }

    /// Uses up `steps`.
    pub(super) fn spend(&self, steps: usize) -> Result<(), Trouble> {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        // What this rule cannot pay for is not done, and costs the others nothing.
        self.total.spend(steps.min(left))?;
        if take(&self.left, steps) {
            Ok(())
        } else {
            Err(Trouble::Exhausted { together: false, ticks: TICKS })
        }
    }

    pub(super) fn turn(&self) -> Result<(), Trouble> {
        self.spend(TURN)
    }

    /// The pattern `text`, compiled once for as long as the rule is asked.
    pub(super) fn pattern(&self, text: &str) -> Result<Rc<Pattern>, Trouble> {
        if let Some(pattern) = self.patterns.borrow().get(text) {
            self.text(text.len())?;
            return Ok(Rc::clone(pattern));
        }
        let pattern = Rc::new(Pattern::compile(text, |steps| self.spend(steps))?);
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() < MAX_PATTERNS {
            patterns.insert(text.to_owned(), Rc::clone(&pattern));
        }
        Ok(pattern)
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
        if depth > MAX_DEPTH || is_too_deep(value) {
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

/// Takes `steps` away, and all that is left where there are fewer.
fn take(left: &Cell<u64>, steps: usize) -> bool {
    let rest = left.get().checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
    left.set(rest.unwrap_or_default());
    rest.is_some()
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
