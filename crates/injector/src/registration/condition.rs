//! Conditions in CEL, which the API server evaluates before it calls: what opted out is left alone even while nobody answers.
//!
//! None of them can fail on any object: a condition that fails counts as the failure policy says. They leave out what is
//! certainly out; whatever is unclear is asked about.

use std::collections::BTreeSet;

use vestibule_rules::{
    INJECT_KEY, MIRROR_ANNOTATION, RULE_KEY_PREFIX, Resource, Rule, RuleSet, STATUS_ANNOTATION,
};

/// The longest expression that names every rule. The API server compiles each, and takes none of 100,000 characters.
const LONGEST: usize = 8 * 1024;

/// Name and expression of each, for a `group` of all rules on these resources.
pub(super) fn all(
    group: &[&Rule],
    resources: &BTreeSet<Resource>,
    all: &RuleSet,
) -> Vec<(&'static str, String)> {
    let mut conditions = Vec::new();
    if resources.contains(&Resource::Pods) {
        let mirror = annotation(&quoted(MIRROR_ANNOTATION));
        conditions.push(("not-a-static-pod", format!("!{mirror}.hasValue()")));
    }
    if resources.iter().any(|resource| *resource != Resource::Pods) {
        conditions.push(("not-being-deleted", "!has(object.metadata.deletionTimestamp)".to_owned()));
    }
    let exact = not_opted_out(group, all);
    let short = if exact.len() > LONGEST { not_opted_out_of_all(group) } else { exact };
    conditions.push(("not-opted-out", short));
    conditions
}

/// The same for rules that are too many to be named: whatever does not decline, under any key of ours or one that they listen
/// to, may be about one of them. Who declines each by its own name is asked about.
fn not_opted_out_of_all(group: &[&Rule]) -> String {
    let all_ask = group.iter().all(|rule| rule.must_be_asked_for());
    let others: BTreeSet<&str> = group.iter().flat_map(|rule| rule.compat_annotations()).collect();
    let mut terms = vec![not_declined(&quoted(INJECT_KEY), &[], all_ask)];
    terms.extend(
        others.iter().map(|other| format!("{}.orValue('false') != 'false'", annotation(&quoted(other)))),
    );
    let told = all_ask && !group.iter().any(|rule| rule.required());
    terms.push(any_key(&match told {
        // Whatever may be misspelt.
        true => {
            let known = [INJECT_KEY, STATUS_ANNOTATION].map(quoted).join(", ");
            format!("key.contains({}) && !(key in [{known}])", quoted(domain()))
        }
        false => format!("key.startsWith({}) && keys[key] != 'false'", quoted(RULE_KEY_PREFIX)),
    }));
    terms.join(" || ")
}

/// Whether some rule is not declined: by its own key, else by a key of another injector that it listens to, else by the key
/// of all rules; of each key, by the label, else by the annotation. Who declines says `false`. Whoever says nothing declines
/// what has to be asked for.
fn not_opted_out(group: &[&Rule], all: &RuleSet) -> String {
    let mut terms = Vec::new();
    for asked_for in [false, true] {
        let of_kind = group.iter().filter(|rule| rule.must_be_asked_for() == asked_for);
        let (plain, with_others): (Vec<&Rule>, Vec<&Rule>) =
            of_kind.copied().partition(|rule| rule.compat_annotations().next().is_none());
        match plain.as_slice() {
            [] => {}
            [rule] => terms.push(not_declined(&own_key(rule), &[], asked_for)),
            rules => {
                let names = rules.iter().map(|rule| quoted(rule.name()));
                let key = format!("{} + rule", quoted(RULE_KEY_PREFIX));
                let one = not_declined(&key, &[], asked_for);
                terms.push(format!("[{}].exists(rule, {one})", names.collect::<Vec<_>>().join(", ")));
            }
        }
        terms.extend(with_others.into_iter().map(|rule| {
            let others: Vec<_> = rule.compat_annotations().collect();
            not_declined(&own_key(rule), &others, asked_for)
        }));
    }
    if group.iter().all(|rule| rule.must_be_asked_for() && !rule.required()) {
        terms.push(misspelt(all));
    }
    terms.join(" || ")
}

fn not_declined(key: &str, others: &[&str], asked_for: bool) -> String {
    let mut keys = vec![label(key), annotation(key)];
    keys.extend(others.iter().map(|other| annotation(&quoted(other))));
    keys.extend([label(&quoted(INJECT_KEY)), annotation(&quoted(INJECT_KEY))]);
    let said = keys.into_iter().reduce(|said, next| format!("{said}.or({next})")).unwrap_or_default();
    let silence = if asked_for { "false" } else { "" };
    format!("{said}.orValue('{silence}') != 'false'")
}

/// Somebody who asks under a key that is almost ours is told so, and who is not asked about cannot be. Not where a call that
/// fails refuses the object: it may be somebody else's key.
fn misspelt(all: &RuleSet) -> String {
    let known = all.rules().iter().map(own_key).chain([quoted(INJECT_KEY), quoted(STATUS_ANNOTATION)]);
    let known = known.collect::<Vec<_>>().join(", ");
    any_key(&format!("key.contains({}) && !(key in [{known}])", quoted(domain())))
}

/// Whether `holds` of a `key` among `keys`, those of the labels or those of the annotations.
fn any_key(holds: &str) -> String {
    format!(
        "[object.metadata.?labels.orValue({{}}), object.metadata.?annotations.orValue({{}})].exists(keys, \
         keys.exists(key, {holds}))"
    )
}

fn domain() -> &'static str {
    RULE_KEY_PREFIX.trim_start_matches("inject.")
}

fn own_key(rule: &Rule) -> String {
    quoted(&format!("{RULE_KEY_PREFIX}{}", rule.name()))
}

fn label(key: &str) -> String {
    format!("object.metadata.?labels[?{key}]")
}

fn annotation(key: &str) -> String {
    format!("object.metadata.?annotations[?{key}]")
}

/// Keys and names have no quotes in them.
fn quoted(text: &str) -> String {
    format!("'{text}'")
}
