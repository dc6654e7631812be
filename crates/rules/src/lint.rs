//! Warnings and hints about rules that are valid.

mod admission_policy;
mod conflicts;
mod containers;
mod defaults;
mod references;
mod security;
mod templates;

use crate::diagnostic::{Code, Diagnostic, Position};
use crate::evaluate::RuleSet;
use crate::rule::Rule;
use crate::yaml::{self, Node};

/// A rule and the source of its `spec`.
struct LintedRule<'p> {
    rule: &'p Rule,
    spec: &'p Node,
}

impl RuleSet {
    /// Hints about missing and unused fields, and warnings about fields that probably do not do what the author
    /// meant. The warnings of loading ([`RuleSet::warnings`]) are not repeated.
    ///
    /// ```
    /// use vestibule_rules::{RuleSet, Severity};
    ///
    /// let rule = "\
    /// apiVersion: vestibule.dev/v1alpha1
    /// kind: Injection
    /// metadata: {name: proxy}
    /// spec:
    ///   optIn: pod
    ///   sidecars: [{name: proxy, image: proxy, resources: {requests: {cpu: 10m}}}]
    /// ";
    /// let rules = RuleSet::load([("rules.yaml", rule)], vestibule_patch::Schema::unknown()).unwrap();
    /// let hints = rules.lint();
    /// assert!(hints.iter().any(|hint| {
    ///     hint.headline() == "rules.yaml:6:35: hint[VST0203]: `proxy` has no fixed version"
    /// }));
    /// ```
    pub fn lint(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        let documents = self.all_rules().flat_map(|rule| Some((rule, document_of(rule)?)));
        let documents: Vec<(&Rule, yaml::Document)> = documents.collect();
        let mut rules = Vec::new();
        for (rule, document) in &documents {
            rules.extend(document.root().get("spec").map(|spec| LintedRule { rule, spec }));
        }
        for rule in &rules {
            containers::lint(rule, &mut findings);
            defaults::lint(rule, &mut findings);
            security::lint(rule, &mut findings);
            references::lint(rule, &mut findings);
            templates::lint(rule, &mut findings);
            // A team cannot write a policy of the cluster.
            if rule.rule.namespace.is_none() {
                admission_policy::lint(rule, self.pod(), &mut findings);
            }
        }
        rules.retain(|linted| linted.rule.namespace.is_none());
        references::between_rules(&rules, &mut findings);
        conflicts::lint(self, &mut findings);
        findings.sort_by(|one, other| {
            let key =
                |finding: &Diagnostic| (finding.source().to_owned(), finding.position(), finding.code().id);
            key(one).cmp(&key(other))
        });
        findings
    }
}

/// Reads the document of `rule` again, because a set of rules keeps no trees.
fn document_of(rule: &Rule) -> Option<yaml::Document> {
    let (documents, _) = yaml::read_all((&*rule.text).into());
    let name = |document: &yaml::Document| document.root().find(&["metadata", "name"]).map(Node::at);
    documents.into_iter().find(|document| name(document) == Some(rule.at))
}

impl LintedRule<'_> {
    fn finding(&self, code: &'static Code, at: Position, message: String, help: &str) -> Diagnostic {
        self.rule.text.finding(code, at, message).with_help(help)
    }

    /// The containers that the rule injects, each with the field that holds it.
    fn injected(&self) -> impl Iterator<Item = (&'static str, &Node)> {
        ["sidecars", "initContainers"]
            .into_iter()
            .flat_map(|field| self.spec.items(field).iter().map(move |node| (field, node)))
    }

    /// The containers that the rule injects and the blocks for existing containers.
    fn all_containers(&self) -> impl Iterator<Item = &Node> {
        self.injected().map(|(_, node)| node).chain(self.spec.items("containerPatches"))
    }
}

fn name_of(container: &Node) -> &str {
    container.text("name").unwrap_or("?")
}
