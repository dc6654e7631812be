//! The problems of a hook's declaration, each with its remedy. The API server would report most of them too, but only when the
//! configuration is applied.

use std::collections::BTreeSet;

use vestibule_admission::HookKind;

use super::Declaration;
use crate::registration::name::{is_dns_label, is_dns_subdomain, is_qualified_name, path_problem};
use crate::registration::rule::Rule;

/// The most match conditions a hook may have.
const MATCH_CONDITIONS: usize = 64;

impl Declaration {
    pub(crate) fn problems(&self, kind: HookKind) -> Vec<String> {
        let mut problems = self.errors.clone();
        let mut say = |problem: String| problems.push(problem);
        if self.failure_policy.is_none() {
            say("say what a failed call means by `.failure_policy(..)`: `FailurePolicy::Ignore` lets objects pass untouched \
                 while the webhook is down, `FailurePolicy::Fail` refuses them"
                .to_owned());
        }
        if self.rules.is_empty() {
            say("name at least one resource: `Rule::new(\"apps/v1\", \"deployments\", [Create])`".to_owned());
        }
        self.rules.iter().flat_map(rule).for_each(&mut say);
        if !(1..=30).contains(&self.timeout_seconds) {
            say(format!("a timeout is 1 to 30 seconds, not {}", self.timeout_seconds));
        }
        if self.reinvocation.is_some() && kind == HookKind::Validating {
            say("only a mutating hook is called again: leave `.reinvocation(..)` out".to_owned());
        }
        if self.review_versions.is_empty() {
            say("name at least one version of the review: `.review_versions([ReviewVersion::V1])`".to_owned());
        }
        let twice = |(index, version)| self.review_versions.iter().take(index).any(|known| known == version);
        if self.review_versions.iter().enumerate().any(twice) {
            say("name each version of the review once".to_owned());
        }
        if let Some(name) = self.qualified_name.as_deref().filter(|name| !is_hook_name(name)) {
            say(format!(
                "`{name}` is no name for the API server: write three segments or more, as in `pods.example.com`"
            ));
        }
        self.path.as_deref().and_then(path_problem).into_iter().for_each(&mut say);
        self.match_condition_problems().into_iter().for_each(say);
        problems
    }

    fn match_condition_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        for condition in &self.match_conditions {
            let name = &condition.name;
            if !is_qualified_name(name) {
                problems.push(format!(
                    "`{name}` is no name of a match condition: write it as a label key, `not-nodes`"
                ));
            }
            if !seen.insert(name) {
                problems.push(format!("the match condition `{name}` is there twice"));
            }
            if condition.expression.trim().is_empty() {
                problems.push(format!("the match condition `{name}` has no expression"));
            }
        }
        if self.match_conditions.len() > MATCH_CONDITIONS {
            problems.push(format!("a hook has {MATCH_CONDITIONS} match conditions at most"));
        }
        problems
    }
}

fn rule(rule: &Rule) -> Vec<String> {
    let Rule { group, version, resource, operations, .. } = rule;
    let any = |text: &str| text == "*";
    let mut problems = Vec::new();
    if operations.is_empty() {
        problems.push(format!("name at least one operation on `{resource}`, such as `Create`"));
    }
    if !(any(group) || group.is_empty() || is_dns_subdomain(group))
        || !(any(version) || is_dns_label(version))
    {
        problems.push(format!(
            "`{group}/{version}` is no API version: write `apps/v1`, or `v1` for the core group"
        ));
    }
    let mut parts = resource.split('/');
    let whole = parts.next().is_some_and(|part| any(part) || is_dns_label(part));
    if !whole || !parts.next().is_none_or(|part| any(part) || is_dns_label(part)) || parts.next().is_some() {
        problems.push(format!(
            "`{resource}` is no resource: write the plural, `pods`, or with a subresource, `pods/status`"
        ));
    }
    problems
}

/// The API server requires three segments.
fn is_hook_name(name: &str) -> bool {
    is_dns_subdomain(name) && name.split('.').count() >= 3
}
