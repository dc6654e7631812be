//! What came of it: for every rule, and why.

mod reason;
mod unsettled;

use std::fmt;
use std::sync::{Arc, OnceLock};

use vestibule_patch::{Operation, Patch};

pub use reason::Reason;
pub(crate) use unsettled::Unsettled;

/// What all rules together make of one object.
#[derive(Default)]
#[non_exhaustive]
pub struct Decision {
    /// One for every rule, in the order they act in.
    pub verdicts: Vec<Verdict>,
    /// For the user who sent the object: conflicts and values that cannot be read. They hold names, never values of
    /// the object other than those of opt-in keys.
    pub warnings: Vec<String>,
    pub(crate) patch: Patch,
    /// Where each operation of the patch comes from.
    pub(crate) origins: Vec<Origin>,
    /// Both together, made at the first call of [`Self::changes`].
    pub(crate) changes: OnceLock<Vec<Change>>,
    /// The first rule that was left out because its evaluation does not end, and why.
    pub(crate) unsettled: Option<(Arc<str>, Unsettled)>,
}

/// What one rule makes of one object.
#[derive(Clone)]
pub struct Verdict {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The name of its source.
    pub source: Arc<str>,
    /// The line that decided.
    pub line: usize,
    /// The part of the rule that decided, as in [`Origin::clause`], where one did.
    pub clause: Option<String>,
    /// What it decided.
    pub outcome: Outcome,
}

/// How a rule came out.
#[derive(Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// The rule changes the object, by the changes that name it.
    Applied,
    /// Everything the rule wants is there already, or conflicts where the rule yields.
    Unchanged,
    /// The rule leaves the object alone, wholly.
    Skipped {
        /// Why, for machines.
        reason: Reason,
        /// Why, for people. Of a rule that is for others it is written once, not for each object.
        sentence: Arc<str>,
    },
    /// The object must not pass.
    Denied {
        /// Why, for machines.
        reason: Reason,
        /// Why, for the user who sent it.
        message: String,
    },
}

/// One operation and where it comes from. No `Debug`: its value may be a secret.
#[derive(Clone)]
pub struct Change {
    /// What is done.
    pub operation: Operation,
    /// By which part of which rule.
    pub origin: Origin,
}

/// A part of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The rule's name.
    pub rule: Arc<str>,
    /// `sidecars[0]`; the list alone where one operation adds all of it.
    pub clause: Arc<str>,
    /// The name of the rule's source.
    pub source: Arc<str>,
    /// The line of the clause.
    pub line: usize,
}

impl Decision {
    /// The JSON Patch: the operations of its changes, and the proof that they apply.
    pub fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Every operation with its origin, in the order they apply; none where a rule denies.
    pub fn changes(&self) -> &[Change] {
        self.changes.get_or_init(|| {
            let changes = self.patch.iter().zip(&self.origins);
            let change = |(operation, origin): (&Operation, &Origin)| Change {
                operation: operation.clone(),
                origin: origin.clone(),
            };
            changes.map(change).collect()
        })
    }

    /// What to tell the user whose object must not pass: the messages of all rules that deny.
    pub fn denial(&self) -> Option<String> {
        let messages = self.verdicts.iter().filter_map(|verdict| match &verdict.outcome {
            Outcome::Denied { message, .. } => Some(message.as_str()),
            Outcome::Applied | Outcome::Unchanged | Outcome::Skipped { .. } => None,
        });
        let messages: Vec<&str> = messages.collect();
        (!messages.is_empty()).then(|| messages.join("; "))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, clause, source, line } = self;
        write!(formatter, "rule {rule}, {clause} ({source}:{line})")
    }
}
