//! Runs the rules on each object twice: the second pass must change nothing.

use vestibule_command::CommandError;
use vestibule_rules::{Outcome, Verdict};

use super::loopback::Admission;
use crate::evaluation::{Evaluation, Submitted, evaluate};
use crate::objects::Object;

/// The result of one object. A pass is the calls of all hooks for the object, and then for the pod that it will make.
pub(super) struct TryResult<'o> {
    pub(super) first: Evaluation<'o, Admission>,
    /// The pass over the result of the first; [`None`] if the object was denied or no hook was called.
    pub(super) second: Option<Evaluation<'o, Admission>>,
}

/// Runs all `objects`; `admit` calls the hooks.
pub(super) fn all<'o>(
    objects: &'o [Object],
    default_namespace: &'o str,
    admit: impl Fn(&Submitted) -> anyhow::Result<Admission>,
) -> Result<Vec<TryResult<'o>>, CommandError> {
    let one = |object: &'o Object| -> anyhow::Result<TryResult<'o>> {
        let first = evaluate(object, &object.json, default_namespace, &admit)?;
        let is_called = first.steps.iter().any(|step| step.answer.is_called);
        let second = match is_called && !first.is_denied() {
            true => Some(evaluate(object, &first.after, default_namespace, &admit)?),
            false => None,
        };
        Ok(TryResult { first, second })
    };
    let results =
        objects.iter().map(|object| one(object).map_err(|error| object.failure(default_namespace, &error)));
    results.collect()
}

impl TryResult<'_> {
    /// Whether some rule is for the object, even if it changed nothing.
    pub(super) fn is_matched(&self) -> bool {
        let is_matched = |verdict: &Verdict| !matches!(verdict.outcome, Outcome::Skipped { .. });
        self.first.is_denied()
            || self
                .first
                .steps
                .iter()
                .any(|step| !step.answer.changes.is_empty() || step.answer.unchanged.iter().any(is_matched))
    }
}
