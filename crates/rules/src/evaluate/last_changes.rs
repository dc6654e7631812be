//! The changes that are made to an object after all rules were applied: rewritten probes and the status annotation.

use vestibule_patch::Document;

use super::RuleSet;
use crate::merge::{self, Draft, RewrittenProbes};
use crate::rule::Rule;

/// The object and the rules that the last changes are made for.
pub(super) struct LastChanges<'f, 'd> {
    pub(super) document: &'f Document<'d>,
    /// The rules whose parts the object has.
    pub(super) present: &'f [&'f Rule],
    /// The rules that may rewrite probes.
    pub(super) rewriting: &'f [&'f Rule],
    /// Whether probes of the document were restored before the rules were applied.
    pub(super) restored: bool,
}

impl RuleSet {
    /// The object with the last changes, and the number of its changes without that of the status.
    pub(super) fn apply_last_changes<'d>(
        &self,
        last: &LastChanges<'_, 'd>,
        mut draft: Draft<'d>,
        warnings: &mut Vec<String>,
    ) -> (Draft<'d>, usize) {
        let status = |rewritten: &[_], draft: &mut Draft<'d>| {
            merge::status(last.present, rewritten, &self.hash, draft)
        };
        let Some(RewrittenProbes { draft: rewritten, probes, warnings: more }) =
            merge::rewrite_probes(last.rewriting, &draft)
        else {
            let change_count = draft.change_count();
            if change_count > 0
                && let Some(status) = status(&[], &mut draft)
            {
                merge::record_status(&status, &mut draft);
            }
            return (draft, change_count);
        };
        warnings.extend(more);
        let mut result = rewritten.with_received_changes();
        if last.restored && result.root().same_as(last.document.view()) {
            return (Draft::new(last.document.clone(), draft.layout, draft.shape), 0);
        }
        let change_count = result.change_count();
        // The draft has the probes as rules wrote them, so the status finds the injected containers in it.
        if change_count > 0
            && let Some(status) = status(&probes, &mut draft)
        {
            merge::record_status(&status, &mut result);
        }
        (result, change_count)
    }
}
