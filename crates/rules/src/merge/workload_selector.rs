//! The label selector of a workload: rules must not change labels by which the workload finds its pods.

use vestibule_patch::View;

use super::contains::present;
use super::{Failure, Merge, invalid};
use crate::rule::{Clause, OnConflict, Part};
use crate::subject::string_member;

impl Merge<'_, '_, '_, '_> {
    /// The API server refuses a workload whose selector does not match the labels of its template.
    pub(super) fn verify_selector(&self) -> Result<(), Failure> {
        if self.draft.layout.selector.is_none() {
            return Ok(());
        }
        let labels = self.draft.at(&self.draft.layout.metadata.child("labels"));
        for Part { item, .. } in self.rule.metadata.iter().filter(|part| part.path == ["labels"]) {
            let is_kept = labels.and_then(|labels| present(labels, &item.key)).is_some_and(|found| {
                item.on_conflict != OnConflict::Override
                    || item.overlay.as_text() == found.as_str().as_deref()
            });
            if !is_kept {
                self.verify_not_selected_by(&item.key, &item.clause)?;
            }
        }
        Ok(())
    }

    /// Refuses the change of the label `key` by `clause` if the workload selects its pods by that label.
    pub(super) fn verify_not_selected_by(&self, key: &str, clause: &Clause) -> Result<(), Failure> {
        if self.selects_by_label(key) {
            return Err(invalid(clause, format!("the workload selects its pods by label `{key}`")));
        }
        Ok(())
    }

    fn selects_by_label(&self, key: &str) -> bool {
        let selector = self.draft.layout.selector.as_ref().and_then(|selector| self.draft.at(selector));
        let Some(selector) = selector else { return false };
        let expressions = present(selector, "matchExpressions").map(View::items).unwrap_or_default();
        present(selector, "matchLabels").is_some_and(|labels| present(labels, key).is_some())
            || expressions.into_iter().any(|one| string_member(one, "key").as_deref() == Some(key))
    }
}
