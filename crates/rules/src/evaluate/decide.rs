//! The stages of one evaluation: select the rules, apply them, record the status, report.

use std::sync::{Arc, OnceLock};

use vestibule_patch::{Document, DocumentError};

use super::RuleSet;
use super::fixpoint::{Application, Fixpoint, with_values};
use super::last_changes::LastChanges;
use super::list_keys::with_keys;
use super::not_applied::{NotApplied, passed_gates};
use super::verdict::{discard_changes, not_applied, skipped, verdict};
use crate::decision::{Decision, Outcome};
use crate::explanation::Record;
use crate::expression::SharedBudget;
use crate::load::feedback::Readers;
use crate::merge::{self, Draft};
use crate::namespaced::NamespacedRules;
use crate::rule::Rule;
use crate::select::{MatchCache, MatchContext, Skip};
use crate::subject::{Layout, Received, Subject};

impl RuleSet {
    pub(super) fn decide(
        &self,
        namespaced: Option<&NamespacedRules>,
        subject: &Subject<'_>,
        record: &mut Option<Record>,
        selected: impl FnOnce(),
    ) -> Result<Decision, DocumentError> {
        let document = subject.read()?;
        let layout = Layout::of(subject.resource);
        let received = Received::new(document.view(), subject, layout);
        let context = self.match_context(subject, &received, &self.rules);
        if let Some(skip) = context.skip_object(record) {
            let verdicts = self.rules.iter().map(|rule| skipped(rule, &skip)).collect();
            return Ok(Decision { verdicts, ..Decision::default() });
        }
        let own = namespaced.and_then(|rules| rules.of(subject.namespace));
        let mut warnings = context.misspelt_keys(own.map(|(rules, _)| rules).unwrap_or_default());
        let skips = self.rules.iter().map(|rule| context.skip_rule(rule, &mut warnings, record));
        let skips: Vec<Option<Skip>> = skips.collect();
        selected();

        let rules = self.rules.iter().zip(&skips).filter(|(_, skip)| skip.is_none());
        let rules: Vec<&Rule> = rules.map(|(rule, _)| rule).collect();
        let total = SharedBudget::of_a_request();
        let keyed = with_keys(&rules, subject, &received, &document, &self.shape, &total);
        let rules: Vec<&Rule> =
            rules.into_iter().map(|rule| keyed.get(rule.name()).unwrap_or(rule)).collect();
        let computes = rules.iter().any(|rule| rule.logic.computes_metadata);
        let readers = computes
            .then(|| self.readers.get_or_init(|| Arc::new(Readers::new(&self.rules, &self.settings))));
        let fixpoint = Fixpoint::new(subject, &received, total, readers.map(|readers| &**readers));
        let mut draft = Draft::new(document.clone(), layout, self.shape);
        let restored = merge::restore_probes(&rules, &mut draft);
        if !restored.is_empty() {
            draft = draft.as_received();
        }
        let applied = fixpoint.run(&rules, &draft);
        trace_conditions(&rules, &applied, subject.presumed_owner, record);
        let (document, skips, rules) = (&document, &skips, &rules);
        let request = Request { subject, document, namespaced, skips, rules, restored };
        Ok(self.complete(&request, applied, warnings, record))
    }

    /// The context for selecting among `rules`.
    pub(super) fn match_context<'i>(
        &'i self,
        subject: &'i Subject<'i>,
        received: &'i Received<'i>,
        rules: &'i [Rule],
    ) -> MatchContext<'i> {
        let (settings, own_namespace) = (&self.settings, self.own_namespace.as_deref());
        MatchContext { subject, received, rules, settings, own_namespace, cache: MatchCache::default() }
    }

    /// Restores positions, applies the rules of the namespace, makes the last changes, and makes the decision.
    fn complete(
        &self,
        request: &Request<'_>,
        applied: Application<'_, '_>,
        mut warnings: Vec<String>,
        record: &mut Option<Record>,
    ) -> Decision {
        let (rules, skips) = (request.rules, request.skips);
        let Application { mut draft, not_applied: reasons, resolved, ended } = applied;
        let present = rules.iter().copied().filter(|rule| !reasons.contains_key(rule.name()));
        // A rule that made its own condition false is still present, with the values that it was applied with.
        let mut present = with_values(present, &resolved);
        // The next evaluation does not attribute containers to a rule that made its own condition false, so positions are checked
        // without it.
        let acting: Vec<&Rule> =
            present.iter().filter(|rule| !ended.contains(&rule.name())).copied().collect();
        merge::restore_strict_positions(&acting, &mut draft);
        warnings.extend(merge::position_warnings(&acting, &draft));
        let own = self.apply_namespaced(request, &present, draft, &mut warnings, record);
        let mut draft = own.draft;
        if !own.present.is_empty() {
            merge::restore_strict_positions(&acting, &mut draft);
        }
        present.extend(&own.present);
        if let Some(record) = record {
            let has_values = |rule: &&&Rule| rule.logic.is_fixed() || resolved.contains_key(rule.name());
            let with_values: Vec<&Rule> = present.iter().filter(has_values).copied().collect();
            record.part_states = merge::part_states(&with_values, &mut draft);
        }
        // An earlier call may have rewritten probes for a rule whose condition is false now. These probes stay rewritten.
        let may_rewrite = |rule: &&Rule| {
            let is_restored = || request.restored.iter().any(|one| one.name() == rule.name());
            rule.rewrite_probes.is_some() && (!reasons.contains_key(rule.name()) || is_restored())
        };
        let rewriting: Vec<&Rule> = rules.iter().copied().filter(may_rewrite).collect();
        let (document, restored) = (request.document, !request.restored.is_empty());
        let last = LastChanges { document, present: &present, rewriting: &rewriting, restored };
        let (draft, change_count) = self.apply_last_changes(&last, draft, &mut warnings);
        debug_assert!(draft.follows_from(document), "the operations make another object than the rules did");
        let (patch, origins) = draft.into_patch();
        debug_assert!(patch.is_empty() || patch.was_carried_out_on(document), "the patch has lost its proof");
        let authors = merge::authors(origins.get(..change_count).unwrap_or_default());
        let verdicts =
            self.rules.iter().zip(skips).map(|(rule, skip)| match (skip, reasons.get(rule.name())) {
                (Some(skip), _) => skipped(rule, skip),
                (None, Some(why)) => not_applied(rule, why, &mut warnings),
                (None, None) if authors.contains(rule.name()) => verdict(rule, rule.at, Outcome::Applied),
                (None, None) => verdict(rule, rule.at, Outcome::Unchanged),
            });
        let verdicts = verdicts.chain(own.verdicts).collect();
        let unsettled = rules.iter().find_map(|rule| match reasons.get(rule.name()) {
            Some(NotApplied::Unsettled(why)) => Some((Arc::clone(&rule.name), why.sentence())),
            _ => None,
        });
        let changes = OnceLock::new();
        let mut decision = Decision { verdicts, warnings, patch, origins, changes, unsettled };
        if decision.denial().is_some() {
            discard_changes(&mut decision);
        }
        decision
    }
}

/// The object of a decision, and the rules that may change it.
pub(super) struct Request<'q> {
    pub(super) subject: &'q Subject<'q>,
    pub(super) document: &'q Document<'q>,
    pub(super) namespaced: Option<&'q NamespacedRules>,
    /// Why each rule of the set is skipped.
    skips: &'q [Option<Skip>],
    /// The rules that are not skipped.
    pub(super) rules: &'q [&'q Rule],
    /// The rules whose rewriting of probes was undone before the rules were applied.
    pub(super) restored: Vec<&'q Rule>,
}

pub(super) fn trace_conditions(
    rules: &[&Rule],
    applied: &Application<'_, '_>,
    presumed_owner: bool,
    record: &mut Option<Record>,
) {
    let Some(record) = record else { return };
    for rule in rules.iter().filter(|rule| !rule.logic.is_empty()) {
        for gate in passed_gates(rule, applied.not_applied.get(rule.name()), presumed_owner) {
            record.gate(rule, gate);
        }
    }
}

#[cfg(test)]
mod tests {
    use vestibule_patch::Schema;

    use super::*;
    use crate::rule::{Resource, Verb};

    /// Regression test: the index was built for each object.
    #[test]
    fn the_index_of_read_keys_is_built_once_and_only_for_computed_keys() {
        let load = |labels: &str| {
            let text = format!(
                "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r}}\n\
                 spec: {{match: {{objectSelector: {{matchLabels: {{app: web}}}}}}, pod: {{labels: {labels}}}}}\n"
            );
            RuleSet::load([("a.yaml", text.as_str())], Schema::unknown())
                .unwrap_or_else(|found| panic!("{found:?}"))
        };
        let pod = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app"}]}}"#;
        let decided = |rules: &RuleSet| {
            let decision = rules.evaluate(&Subject::new(pod, Resource::Pods, Verb::Create, "a")).unwrap();
            assert!(!decision.patch().is_empty());
            rules.readers.get().map(Arc::as_ptr)
        };
        let computes = load("{$cel: \"{'a': 'b'}\"}");
        let first = decided(&computes);
        assert!(first.is_some() && decided(&computes.clone()) == first);
        assert!(decided(&load("{a: b}")).is_none());
    }
}
