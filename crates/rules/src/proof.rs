//! Rules proved on pods of our own before they meet anybody's: what a rule made, it must leave alone.

mod corpus;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use vestibule_patch::Document;

use crate::decision::{Change, Decision, Outcome};
use crate::diagnostic::{self, Diagnostic};
use crate::evaluate::RESTLESS;
use crate::rule::{Resource, Rule, Verb};
use crate::subject::{NamespaceFacts, Subject};
use crate::{RULE_KEY_PREFIX, RuleSet};
use corpus::{PODS, Specimen};

/// So many different objects are shown to all rules together: each is made for as many of them as can be met at once.
const SCENES: usize = 8;

/// So many rules are laid in together: the work for all on one object grows with their square.
const TOGETHER: usize = 50;

impl RuleSet {
    /// Applies every rule alone, and all of them together (fifty at a time, in the order they act in), to a small corpus of pods (a bare one, one with sidecars, a
    /// Job's, one with fields that nobody knows yet, and so on), each made so that the rules mean it, and evaluates the
    /// result once more: that must change nothing, since the API server does ask twice.
    ///
    /// The work grows with the number of rules.
    ///
    /// # Errors
    /// The rules that change what they made themselves, or what the others made of it: with the line that does, and the
    /// pod that shows it. One finding for each rule.
    pub fn prove(&self) -> Result<(), Vec<Diagnostic>> {
        let mut findings = Vec::new();
        let mut unstable = HashSet::new();
        for rule in self.rules() {
            let alone = self.with_rules(vec![rule.clone()]);
            let mut scene = Scene::default();
            if !scene.admit(rule) {
                continue;
            }
            let mut objects = scene.objects(&rule.targets);
            if let Some(finding) = objects.find_map(|(name, object)| alone.unsettled(&scene, &name, &object))
            {
                unstable.insert(rule.name());
                findings.push(finding);
            }
        }
        if self.rules().len() > 1 {
            findings.extend(self.prove_together(&unstable));
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// A rule that is unstable alone has been reported, and would only be so again.
    fn prove_together(&self, unstable: &HashSet<&str>) -> Vec<Diagnostic> {
        let stable = self.rules().iter().filter(|rule| !unstable.contains(rule.name()));
        let stable: Vec<Rule> = stable.cloned().collect();
        let mut findings: Vec<Diagnostic> = Vec::new();
        for some in stable.chunks(TOGETHER) {
            let together = self.with_rules(some.to_vec());
            let targets: BTreeSet<Resource> = some.iter().flat_map(|rule| rule.targets.clone()).collect();
            let targets: Vec<Resource> = targets.into_iter().collect();
            let mut left: Vec<&Rule> = some.iter().collect();
            for _ in 0..SCENES {
                let mut scene = Scene::default();
                left.retain(|rule| !scene.admit(rule));
                let objects = scene.objects(&targets);
                for finding in objects.filter_map(|(name, object)| together.unsettled(&scene, &name, &object))
                {
                    let place = |finding: &Diagnostic| (finding.source().to_owned(), finding.position());
                    if !findings.iter().any(|other| place(other) == place(&finding)) {
                        findings.push(finding);
                    }
                }
                if left.is_empty() {
                    break;
                }
            }
        }
        findings
    }

    /// What a second evaluation does that it should not.
    fn unsettled(&self, scene: &Scene, name: &str, object: &(Resource, String)) -> Option<Diagnostic> {
        let (resource, object) = object;
        let facts = &scene.facts;
        let subject =
            Subject::new(object, *resource, Verb::Create, &scene.namespace).facts(facts).name("web");
        let first = self.evaluate(&subject).ok()?;
        let mut document = Document::parse(object).ok()?;
        document.apply_all(&first.operations()).ok()?;
        let result = document.to_json();
        let second = self.evaluate(&subject.object(&result)).ok()?;
        self.finding(name, &first, &second)
    }

    fn finding(&self, name: &str, first: &Decision, second: &Decision) -> Option<Diagnostic> {
        let rule_of = |name: &str| self.rules().iter().find(|rule| rule.name() == name);
        let changed = second.changes.iter().find_map(|change| Some((rule_of(&change.origin.rule)?, change)));
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
                let rule = self.restless(first)?;
                (rule, rule.at, format!("rule `{}` never comes to rest on {name}: {RESTLESS}", rule.name))
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

    /// A rule that was left out because it would not end.
    fn restless(&self, decision: &Decision) -> Option<&Rule> {
        let verdict = decision.verdicts.iter().find(|verdict| match &verdict.outcome {
            Outcome::Skipped { sentence: said, .. } | Outcome::Denied { message: said, .. } => {
                said.contains(RESTLESS)
            }
            _ => false,
        })?;
        self.rules().iter().find(|rule| rule.name == verdict.rule)
    }
}

/// A request that some rules mean.
#[derive(Default)]
struct Scene {
    namespace: String,
    facts: NamespaceFacts,
    labels: BTreeMap<String, String>,
    /// The kind of what makes the pods, where a rule asks for one.
    owner: Option<String>,
}

impl Scene {
    /// Makes the request one that `rule` means, too, if that goes together with what is asked for already.
    fn admit(&mut self, rule: &Rule) -> bool {
        let Some(namespace) = self.namespace_for(rule) else { return false };
        let agrees = |map: &BTreeMap<String, String>, key: &str, value: &str| {
            map.get(key).is_none_or(|there| there == value)
        };
        let own_key = format!("{RULE_KEY_PREFIX}{}", rule.name());
        let owners = &rule.matching.owner_kinds;
        let fits = rule.namespace_labels().all(|(key, value)| agrees(&self.facts.labels, key, value))
            && rule.object_labels().all(|(key, value)| agrees(&self.labels, key, value))
            && (owners.is_empty() || self.owner.as_ref().is_none_or(|owner| owners.contains(owner)));
        if fits {
            let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            self.namespace = namespace;
            self.facts.labels.extend(rule.namespace_labels().map(owned));
            self.labels.extend(rule.object_labels().map(owned));
            self.owner = self.owner.take().or_else(|| owners.first().cloned());
            for labels in [&mut self.labels, &mut self.facts.labels] {
                labels.entry(own_key.clone()).or_insert_with(|| "true".to_owned());
            }
        }
        fits
    }

    fn namespace_for(&self, rule: &Rule) -> Option<String> {
        let matching = &rule.matching;
        let fine = |name: &&str| {
            (matching.namespaces.is_empty() || matching.namespaces.iter().any(|wanted| wanted == name))
                && !matching.excluded.iter().any(|excluded| excluded == name)
        };
        if !self.namespace.is_empty() {
            return Some(self.namespace.as_str()).filter(fine).map(str::to_owned);
        }
        let named = matching.namespaces.iter().map(String::as_str);
        named.chain(["team-a", "team-b", "team-c"]).find(fine).map(str::to_owned)
    }

    /// The corpus with the labels that are asked for: all of it as pods, the fullest as what makes pods.
    fn objects(&self, targets: &[Resource]) -> impl Iterator<Item = (String, (Resource, String))> {
        let fullest = PODS.last();
        targets.iter().flat_map(move |resource| {
            let specimens = match resource {
                Resource::Pods => PODS.iter().collect::<Vec<_>>(),
                _ => fullest.into_iter().collect(),
            };
            specimens.into_iter().map(move |specimen: &Specimen| {
                let name = match resource {
                    Resource::Pods => specimen.name.to_owned(),
                    other => format!("{} in the template of {}", specimen.name, other.as_str()),
                };
                (name, (*resource, specimen.object(*resource, &self.labels, self.owner.as_deref())))
            })
        })
    }
}
