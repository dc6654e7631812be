//! Rules proved on pods of our own before they meet anybody's: what a rule made, it must leave alone.

mod corpus;
mod proofs;
mod scene;

use std::collections::{BTreeSet, HashSet};

use vestibule_patch::Document;

use crate::decision::{Change, Decision, Outcome};
use crate::diagnostic::{self, Diagnostic};
use crate::digest;
use crate::evaluate::RuleSet;
use crate::evaluate::{EXHAUSTED, RESTLESS};
use crate::rule::{Resource, Rule, Verb};
use crate::subject::Subject;
pub use proofs::Proofs;
use scene::Scene;

/// So many different objects are shown to all rules together: each is made for as many of them as can be met at once.
const SCENES: usize = 8;

/// So many rules are laid in together: the work for all on one object grows with their square.
const TOGETHER: usize = 50;

impl RuleSet {
    /// Applies every rule alone, and all of them together (fifty at a time, in the order they act in), to a small corpus of pods (a bare one, one with sidecars, a
    /// Job's, one with fields that nobody knows yet, and so on), each made so that the rules mean it (labels, annotations
    /// for parameters, what conditions compare with texts; no roll-out), and evaluates the result once more: that must
    /// change nothing, since the API server does ask twice. A rule that acts on none of them is proved alone as if its
    /// conditions held, but for those that read the object: they may be what brings it to rest.
    ///
    /// The work grows with the number of rules.
    ///
    /// # Errors
    /// The rules that change what they made themselves, or what the others made of it: with the line that does, and the
    /// pod that shows it. One finding for each rule.
    pub fn prove(&self) -> Result<(), Vec<Diagnostic>> {
        self.prove_further(&Proofs::default(), || true)
    }

    /// The same, without what is `known` by now to come to rest, and as long as it `goes_on`: what was not proved by then is
    /// taken for good. What `known` has must have been proved by rules of the same schema.
    ///
    /// # Errors
    /// As [`RuleSet::prove`].
    pub fn prove_further(&self, known: &Proofs, goes_on: impl Fn() -> bool) -> Result<(), Vec<Diagnostic>> {
        let mut findings = Vec::new();
        let mut unstable = HashSet::new();
        for rule in self.rules() {
            let name = self.name_of("alone", std::slice::from_ref(rule));
            if known.has(&name) {
                continue;
            }
            if !goes_on() {
                break;
            }
            match self.prove_alone(rule) {
                Some(finding) => {
                    unstable.insert(rule.name());
                    findings.push(finding);
                }
                None => known.note(name),
            }
        }
        if self.rules().len() > 1 {
            findings.extend(self.prove_together(&unstable, known, goes_on));
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// Where the rule acts on nothing that can be made for it, it is proved once more without its conditions.
    fn prove_alone(&self, rule: &Rule) -> Option<Diagnostic> {
        let mut scene = Scene::default();
        if !scene.admit(rule) {
            return None;
        }
        let prove = |rule: Rule, acted: &mut bool| {
            let alone = self.with_rules(vec![rule]);
            let mut objects = scene.objects(alone.rules().first()?.targets());
            objects.find_map(|(name, object)| alone.unsettled(&scene, &name, &object, acted))
        };
        let mut acted = false;
        let found = prove(scene::for_everybody(rule), &mut acted);
        if found.is_some() || acted {
            return found;
        }
        prove(scene::without_conditions(&scene::for_everybody(rule))?, &mut acted)
    }

    /// What is proved `how` of `rules`: all that they are made of. Settings make something else of some sidecars; all other
    /// rules are the same under any.
    fn name_of(&self, how: &str, rules: &[Rule]) -> String {
        let documents = rules.iter().flat_map(|rule| {
            let lists = rule.injected.iter().map(|one| one.list);
            std::iter::once(&*rule.digest).chain(lists)
        });
        digest::full(std::iter::once(how).chain(documents))
    }

    /// A rule that is unstable alone has been reported, and would only be so again.
    fn prove_together(
        &self,
        unstable: &HashSet<&str>,
        known: &Proofs,
        goes_on: impl Fn() -> bool,
    ) -> Vec<Diagnostic> {
        let stable = self.rules().iter().filter(|rule| !unstable.contains(rule.name()));
        let stable: Vec<Rule> = stable.map(scene::for_everybody).collect();
        let mut findings: Vec<Diagnostic> = Vec::new();
        for some in stable.chunks(TOGETHER) {
            let name = self.name_of("together", some);
            if known.has(&name) {
                continue;
            }
            let mut come_to_rest = true;
            let together = self.with_rules(some.to_vec());
            let targets: BTreeSet<Resource> = some.iter().flat_map(|rule| rule.targets.clone()).collect();
            let targets: Vec<Resource> = targets.into_iter().collect();
            let mut left: Vec<&Rule> = some.iter().collect();
            for _ in 0..SCENES {
                if !goes_on() {
                    return findings;
                }
                let mut scene = Scene::default();
                left.retain(|rule| !scene.admit(rule));
                let objects = scene.objects(&targets);
                for finding in objects
                    .filter_map(|(name, object)| together.unsettled(&scene, &name, &object, &mut false))
                {
                    come_to_rest = false;
                    let place = |finding: &Diagnostic| (finding.source().to_owned(), finding.position());
                    if !findings.iter().any(|other| place(other) == place(&finding)) {
                        findings.push(finding);
                    }
                }
                if left.is_empty() {
                    break;
                }
            }
            if come_to_rest {
                known.note(name);
            }
        }
        findings
    }

    /// What a second evaluation does that it should not. Notes in `acted` whether any rule had its way.
    fn unsettled(
        &self,
        scene: &Scene,
        name: &str,
        object: &(Resource, String),
        acted: &mut bool,
    ) -> Option<Diagnostic> {
        let (resource, object) = object;
        let (facts, user) = (&scene.facts, scene.user());
        let subject =
            Subject::new(object, *resource, Verb::Create, &scene.namespace).facts(facts).name("web");
        let subject = subject.user(Some(&user));
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
        let denied = |decision: &Decision| {
            let mut verdicts = decision.verdicts.iter();
            let found = verdicts.find(|one| matches!(one.outcome, Outcome::Denied { .. }))?;
            rule_of(&found.rule)
        };
        let (rule, at, message) = match changed {
            Some((rule, Change { operation, origin, .. })) => {
                let message = format!(
                    "rule `{}` never comes to rest: a second evaluation of {name} changes {} again",
                    origin.rule,
                    operation.path()
                );
                (rule, rule.text.start_of(origin.line), message)
            }
            None if self.restless(first).is_some() => {
                let (rule, why) = self.restless(first)?;
                (rule, rule.at, format!("rule `{}` never comes to rest on {name}: {why}", rule.name))
            }
            None => {
                let rule = denied(second).filter(|_| denied(first).is_none())?;
                let message =
                    format!("rule `{}` denies {name} in the form that the rules gave it", rule.name);
                (rule, rule.at, message)
            }
        };
        let help =
            "the API server evaluates twice: let what the rule writes not depend on what the rules write";
        Some(rule.text.error(&diagnostic::UNSTABLE, at, message).with_help(help))
    }

    /// A rule that was left out because it would not end, and why.
    fn restless(&self, decision: &Decision) -> Option<(&Rule, &'static str)> {
        let (name, why) = decision.verdicts.iter().find_map(|verdict| match &verdict.outcome {
            Outcome::Skipped { sentence, .. } => Some((&verdict.rule, unending(sentence)?)),
            Outcome::Denied { message, .. } => Some((&verdict.rule, unending(message)?)),
            _ => None,
        })?;
        Some((self.rules().iter().find(|rule| rule.name == *name)?, why))
    }
}

fn unending(said: &str) -> Option<&'static str> {
    [RESTLESS, EXHAUSTED].into_iter().find(|why| said.contains(why))
}
