//! The result of an evaluation: the patch with the origin of each operation, and a verdict for every rule.

mod reason;

use std::fmt;
use std::sync::{Arc, OnceLock};

use vestibule_patch::{Operation, Patch};

pub use reason::Reason;

/// The result of all rules for one object.
#[derive(Default)]
#[non_exhaustive]
pub struct Decision {
    /// One for every rule, in the order they act in.
    pub verdicts: Vec<Verdict>,
    /// Warnings for the sender of the object: conflicts, and values that cannot be read. A warning may quote names and the values
    /// of opt-in keys, and no other value of the object.
    pub warnings: Vec<String>,
    pub(crate) patch: Patch,
    /// The origin of each operation of the patch.
    pub(crate) origins: Vec<Origin>,
    /// The operations with their origins, made at the first call of [`Decision::changes`].
    pub(crate) changes: OnceLock<Vec<Change>>,
    /// The first rule that was left out because its evaluation does not end, and why.
    pub(crate) unsettled: Option<(Arc<str>, &'static str)>,
}

/// The result of one rule for one object.
#[derive(Clone)]
pub struct Verdict {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The name of its source.
    pub source: Arc<str>,
    /// The line that decided.
    pub line: usize,
    /// The part of the rule that decided, as in [`Origin::clause`], if a part did.
    pub clause: Option<String>,
    /// The result.
    pub outcome: Outcome,
}

/// The result of a rule.
#[derive(Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// The rule changes the object, by the changes that name it.
    Applied,
    /// The object has everything that the rule adds already, or has something else that the rule keeps.
    Unchanged,
    /// The rule changes nothing in the object.
    Skipped {
        /// Why, for machines.
        reason: Reason,
        /// Why, for people.
        sentence: Arc<str>,
    },
    /// The object is denied.
    Denied {
        /// Why, for machines.
        reason: Reason,
        /// Why, for the user who sent it.
        message: String,
    },
}

/// One operation and its origin. No `Debug`: the value may be a secret.
#[derive(Clone)]
pub struct Change {
    /// The operation.
    pub operation: Operation,
    /// The part of the rule that it comes from.
    pub origin: Origin,
}

/// The part of a rule that an operation comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The rule's name.
    pub rule: Arc<str>,
    /// `sidecars[0]`; the list alone if one operation adds all of it.
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

    /// Every operation with its origin, in the order in which they apply; none if a rule denies the object.
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

    /// The messages of all rules that deny the object, for the user; `None` if no rule does.
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
