//! Proves that rules settle: evaluates them on sample pods and evaluates the result once more, which must change nothing.
//!
//! The injector calls [`RuleSet::prove_further`] before it puts rules in force, `lint` calls [`RuleSet::prove`]. `request`
//! makes a request that a rule applies to, `corpus` holds the sample pods, `cache` remembers what has been proved.

mod cache;
mod corpus;
mod request;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use vestibule_patch::Document;

use crate::decision::{Change, Decision, Outcome};
use crate::diagnostic::{self, Diagnostic};
use crate::digest;
use crate::evaluate::RuleSet;
use crate::load;
use crate::rule::{Resource, Rule, Verb};
use crate::subject::Subject;
use crate::yaml::Text;
pub use cache::Proofs;
use request::SampleRequest;

/// The requests that one batch of rules is proved on. Each request meets the conditions of as many rules as possible.
const MAX_REQUESTS: usize = 8;

/// The rules that are proved together: the work for one object grows with the square of their number.
const BATCH: usize = 50;

impl RuleSet {
    /// Evaluates every rule alone, and all rules together (50 at a time, in their order), on a small corpus of pods: a bare
    /// pod, a pod with sidecars, a pod of a Job, a pod with unknown fields, and so on. The pods get the labels, annotations
    /// and fields that the rules ask for, and roll-outs are ignored. The result is evaluated once more, as the API server
    /// may do, and that must change nothing. A rule that acts on none of the pods is proved alone once more without those of
    /// its conditions that do not read the object; a condition that reads the object may be the reason why the rule settles.
    ///
    /// The work grows with the number of rules.
    ///
    /// # Errors
    /// One finding for each rule that changes its own result or the result of the other rules, with its line and the pod.
    pub fn prove(&self) -> Result<(), Vec<Diagnostic>> {
        self.prove_further(&Proofs::default(), || true)
    }

    /// Does the same without the rules that `known` holds, and stops when `goes_on` is false: rules that were not reached
    /// count as proved. `known` must come from rules of the same schema.
    ///
    /// # Errors
    /// As [`RuleSet::prove`].
    pub fn prove_further(&self, known: &Proofs, goes_on: impl Fn() -> bool) -> Result<(), Vec<Diagnostic>> {
        let mut findings = Vec::new();
        let mut unstable = HashSet::new();
        for rule in self.all_rules() {
            let key = cache_key("alone", std::slice::from_ref(rule));
            if known.contains(&key) {
                continue;
            }
            if !goes_on() {
                break;
            }
            match self.prove_alone(rule, &goes_on) {
                Some(finding) => {
                    unstable.insert(rule.name());
                    findings.push(finding);
                }
                // Some samples may be left.
                None if !goes_on() => break,
                None => known.insert(key),
            }
        }
        if self.rules().len() > 1 {
            findings.extend(self.prove_together(&unstable, known, goes_on));
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// Reads the rule of a namespace in `text`, a text of one document, and proves it as [`prove_further`](Self::prove_further) does. The
    /// second value are the warnings. The rule does not become part of this set.
    ///
    /// # Errors
    /// The document is wrong, or these rules and settings do not allow it: all findings.
    pub fn namespaced_rule<'t>(
        &self,
        text: impl Into<Text<'t>>,
        known: &Proofs,
        goes_on: impl Fn() -> bool,
    ) -> Result<(Arc<Rule>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (rule, warnings) = load::namespaced_rule(text.into(), self.rules(), self.settings(), self.pod())?;
        self.with_rules(vec![rule.clone()]).prove_further(known, goes_on)?;
        Ok((Arc::new(rule), warnings))
    }

    fn prove_alone(&self, rule: &Rule, goes_on: impl Fn() -> bool) -> Option<Diagnostic> {
        let mut request = SampleRequest::default();
        if !request.satisfy(rule) {
            return None;
        }
        let prove = |rule: Rule, acted: &mut bool| {
            let alone = self.with_rules(vec![rule]);
            let mut objects = request.objects(alone.rules().first()?.targets()).take_while(|_| goes_on());
            objects.find_map(|(name, object)| alone.prove_on(&request, &name, &object, acted))
        };
        let mut acted = false;
        let found = prove(request::without_rollout(rule), &mut acted);
        if found.is_some() || acted {
            return found;
        }
        prove(request::without_conditions(&request::without_rollout(rule))?, &mut acted)
    }

    /// Leaves out the `unstable` rules, which have a finding already.
    fn prove_together(
        &self,
        unstable: &HashSet<&str>,
        known: &Proofs,
        goes_on: impl Fn() -> bool,
    ) -> Vec<Diagnostic> {
        let stable = self.rules().iter().filter(|rule| !unstable.contains(rule.name()));
        let stable: Vec<Rule> = stable.map(request::without_rollout).collect();
        let mut findings: Vec<Diagnostic> = Vec::new();
        for batch in stable.chunks(BATCH) {
            let key = cache_key("together", batch);
            if known.contains(&key) {
                continue;
            }
            let mut settles = true;
            let together = self.with_rules(batch.to_vec());
            let targets: BTreeSet<Resource> = batch.iter().flat_map(|rule| rule.targets.clone()).collect();
            let targets: Vec<Resource> = targets.into_iter().collect();
            let mut remaining: Vec<&Rule> = batch.iter().collect();
            for _ in 0..MAX_REQUESTS {
                if !goes_on() {
                    return findings;
                }
                let mut request = SampleRequest::default();
                remaining.retain(|rule| !request.satisfy(rule));
                let objects = request.objects(&targets);
                for finding in objects
                    .filter_map(|(name, object)| together.prove_on(&request, &name, &object, &mut false))
                {
                    settles = false;
                    let place = |finding: &Diagnostic| (finding.source().to_owned(), finding.position());
                    if !findings.iter().any(|other| place(other) == place(&finding)) {
                        findings.push(finding);
                    }
                }
                if remaining.is_empty() {
                    break;
                }
            }
            if settles {
                known.insert(key);
            }
        }
        findings
    }

    /// Evaluates `object` and then its result. Sets `acted` where a rule was applied.
    fn prove_on(
        &self,
        request: &SampleRequest,
        name: &str,
        object: &(Resource, String),
        acted: &mut bool,
    ) -> Option<Diagnostic> {
        let (resource, object) = object;
        let (facts, user) = (request.facts(), request.user());
        let subject = Subject::new(object, *resource, Verb::Create, &request.namespace)
            .facts(&facts)
            .name("web")
            .user(Some(&user));
        let first = self.evaluate(&subject).ok()?;
        *acted |= first.verdicts.iter().any(|verdict| matches!(verdict.outcome, Outcome::Applied));
        let mut document = Document::parse(object).ok()?;
        document.apply_all(first.patch()).ok()?;
        let result = document.to_json();
        let second = self.evaluate(&subject.object(&result)).ok()?;
        self.finding(name, &first, &second)
    }

    fn finding(&self, name: &str, first: &Decision, second: &Decision) -> Option<Diagnostic> {
        let rule_of = |name: &str| self.rules().iter().find(|rule| rule.name() == name);
        let changed =
            second.changes().iter().find_map(|change| Some((rule_of(&change.origin.rule)?, change)));
        let (rule, at, message) = if let Some((rule, Change { operation, origin, .. })) = changed {
            let message = format!(
                "rule `{}` never comes to rest: a second evaluation of {name} changes {} again",
                origin.rule,
                operation.path()
            );
            (rule, rule.text.start_of(origin.line), message)
        } else if let Some((rule, why)) = &first.unsettled {
            let rule = rule_of(rule)?;
            let message = format!("rule `{}` never comes to rest on {name}: {why}", rule.name);
            (rule, rule.at, message)
        } else {
            let rule = denied_by(second).filter(|_| denied_by(first).is_none()).and_then(rule_of)?;
            let message = format!("rule `{}` denies {name} in the form that the rules gave it", rule.name);
            (rule, rule.at, message)
        };
        let help =
            "the API server evaluates twice: let what the rule writes not depend on what the rules write";
        Some(rule.text.finding(&diagnostic::UNSTABLE, at, message).with_help(help))
    }
}

/// The key of a proof: a digest of the documents of `rules`. It holds the list of each sidecar too, since settings decide
/// about it.
fn cache_key(how: &str, rules: &[Rule]) -> String {
    let documents = rules.iter().flat_map(|rule| {
        let lists = rule.injected.iter().map(|one| one.list);
        std::iter::once(&*rule.digest).chain(lists)
    });
    digest::full(std::iter::once(how).chain(documents))
}

/// The name of the first rule that denies the object.
fn denied_by(decision: &Decision) -> Option<&str> {
    let denied = decision.verdicts.iter().find(|one| matches!(one.outcome, Outcome::Denied { .. }));
    denied.map(|verdict| &*verdict.rule)
}
