//! Bounds the cost of expressions and patterns by counted steps and bytes; this crate has no clock.
//!
//! A tick is a turn of a loop, and 16 steps. A step is one node of an expression, or 32 bytes that are made or read. Each
//! rule has a [`Budget`]; all rules of a request, and all documents of a load, share a [`SharedBudget`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use super::error::EvaluationError;
use super::pattern::Pattern;
use super::url::url_length;
use super::values::{MAX_DEPTH, as_optional, is_too_deep};

/// The ticks that the expressions of one rule may use in one evaluation.
pub(crate) const TICKS: u64 = 100_000;

/// The ticks that the expressions and patterns of all rules may use for one object, over all turns.
pub(crate) const REQUEST_TICKS: u64 = 2_000_000;

/// The ticks that loading the expressions and patterns of all documents may use.
pub(crate) const LOAD_TICKS: u64 = 4_000_000;

/// The steps of a tick.
const TURN: usize = 16;

/// The bytes of a step.
const BYTES: usize = 32;

/// The longest text that an expression may make in between, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// The patterns that a budget keeps compiled.
const MAX_PATTERNS: usize = 32;

/// The steps that are left for one object, or for one load. Clones share them.
#[derive(Clone)]
pub(crate) struct SharedBudget {
    left: Rc<Cell<u64>>,
    ticks: u64,
}

impl SharedBudget {
    pub(crate) fn of_a_request() -> Self {
        Self::of(REQUEST_TICKS)
    }

    pub(crate) fn of_a_load() -> Self {
        Self::of(LOAD_TICKS)
    }

    fn of(ticks: u64) -> Self {
        Self { left: Rc::new(Cell::new(ticks * TURN as u64)), ticks }
    }

    pub(crate) fn spend(&self, steps: usize) -> Result<(), EvaluationError> {
        let exceeded = EvaluationError::BudgetExceeded { shared: true, ticks: self.ticks };
        take(&self.left, steps).ok_or(exceeded)
    }

    /// Spends the steps for reading `bytes`.
    pub(crate) fn look_through(&self, bytes: usize) -> Result<(), EvaluationError> {
        self.spend(1 + bytes / BYTES)
    }

    /// The ticks that were spent.
    #[cfg(test)]
    pub(crate) fn spent(&self) -> u64 {
        self.ticks - self.left.get() / TURN as u64
    }
}

/// The steps that are left for the expressions of one rule, and its compiled patterns.
pub(crate) struct Budget {
    left: Cell<u64>,
    shared: SharedBudget,
    patterns: RefCell<HashMap<String, Rc<Pattern>>>,
}

impl Budget {
    pub(crate) fn new(shared: &SharedBudget) -> Self {
        Self { left: Cell::new(TICKS * TURN as u64), shared: shared.clone(), patterns: RefCell::default() }
    }

    /// Spends `steps` of the rule and of the shared budget.
    pub(super) fn spend(&self, steps: usize) -> Result<(), EvaluationError> {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        // Work beyond the rule's own budget is not done, so the other rules do not pay for it.
        self.shared.spend(steps.min(left))?;
        take(&self.left, steps).ok_or(EvaluationError::BudgetExceeded { shared: false, ticks: TICKS })
    }

    /// Spends the turns for `count` copies of `bytes`: memory is kept until the decision, so it costs more than reading.
    pub(super) fn copies(&self, count: usize, bytes: usize) -> Result<(), EvaluationError> {
        self.spend(count * (1 + bytes / BYTES) * TURN)
    }

    pub(super) fn turn(&self) -> Result<(), EvaluationError> {
        self.spend(TURN)
    }

    /// The pattern `text`; it is compiled once in an evaluation of the rule.
    pub(super) fn pattern(&self, text: &str) -> Result<Rc<Pattern>, EvaluationError> {
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

    /// Spends the steps for reading `value` if it is a text, bytes or a URL. Functions that read the items of a list or map
    /// call [`Self::read`].
    pub(super) fn read_scalar(&self, value: &Value) -> Result<(), EvaluationError> {
        self.spend(length(value) / BYTES)
    }

    /// Spends the steps for a text of `bytes`, and refuses a text that is too long.
    pub(super) fn text(&self, bytes: usize) -> Result<(), EvaluationError> {
        if bytes > MAX_TEXT {
            return Err(EvaluationError::failed(format!("a text of more than {MAX_TEXT} bytes")));
        }
        self.spend(1 + bytes / BYTES)
    }

    /// Spends the steps for reading all of `value`, and returns them. Values share their parts, so a small value may unfold
    /// to a very large one: the count stops when the budget is used up.
    pub(super) fn read(&self, value: &Value) -> Result<usize, EvaluationError> {
        self.read_below(value, 0)
    }

    // Recursion is bounded by MAX_DEPTH.
    fn read_below(&self, value: &Value, depth: usize) -> Result<usize, EvaluationError> {
        if depth > MAX_DEPTH || is_too_deep(value) {
            return Err(EvaluationError::failed("lists and maps nest too deeply"));
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

/// Subtracts `steps`; `None`, with nothing left, where there are fewer.
fn take(left: &Cell<u64>, steps: usize) -> Option<()> {
    let rest = left.get().checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
    left.set(rest.unwrap_or_default());
    rest.map(drop)
}

/// The bytes of `value` without its items.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => url_length(value),
    }
}
