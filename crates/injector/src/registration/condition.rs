//! Conditions in CEL, which the API server evaluates before it calls: what opted out is left alone even while nobody answers.
//!
//! None of them can fail on any object: a condition that fails counts as the failure policy says. They leave out what is
//! certainly out; whatever is unclear is asked about.

use std::collections::BTreeSet;

use vestibule_rules::{
    INJECT_KEY, MIRROR_ANNOTATION, RULE_KEY_PREFIX, Resource, Rule, RuleSet, STATUS_ANNOTATION,
};

use super::exempt::{self, Exempt};

/// The longest expression. The API server compiles each; it takes 100,000 characters and no more (cel-go's
/// `ExpressionSizeCodePointLimit`, which it leaves as it is), and all entries together are one object.
const LONGEST: usize = 8 * 1024;

/// Among more labels or annotations than this nobody searches: who has them is asked about. The API server ends a condition
/// that costs more than 1,000,000 (`PerCallLimit`), and one that is ended counts as failed, so that `Fail` would refuse the
/// object. A turn of a search costs about ten, and a tenth for each character that it looks at; 500 keys of any length, each
/// compared with as many names as an expression holds, stay below half of that.
const MOST_KEYS: usize = 500;

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
    let required = group.iter().any(|rule| rule.required());
    if required && resources.iter().eq([&Resource::Pods]) {
        conditions.extend(environment(group));
    }
    conditions.extend(not_exempt(all).map(|expression| ("not-exempt", expression)));
    let choices = [not_opted_out(group, all), not_opted_out_of_all(group)];
    // What cannot be said shortly is asked about.
    let short = choices.into_iter().find(|expression| expression.len() <= LONGEST);
    conditions.extend(short.map(|expression| ("not-opted-out", expression)));
    conditions
}

/// For pods that all rules leave alone because of where they run. Whoever speaks about a rule is asked about all the same:
/// what nobody can read there is refused or warned about first.
fn environment(group: &[&Rule]) -> Vec<(&'static str, String)> {
    let others: BTreeSet<&str> = group.iter().flat_map(|rule| rule.compat_annotations()).collect();
    let mut spoken = vec![any_key(&format!(
        "key == {} || key.startsWith({})",
        quoted(INJECT_KEY),
        quoted(RULE_KEY_PREFIX)
    ))];
    spoken.extend(others.iter().map(|other| format!("{}.hasValue()", annotation(&quoted(other)))));
    let spoken = spoken.join(" || ");
    let mut conditions = Vec::new();
    if group.iter().all(|rule| rule.skips_host_network()) {
        let own = "!object.?spec.?hostNetwork.orValue(false)";
        conditions.push(("not-in-the-network-of-its-node", format!("{own} || {spoken}")));
    }
    let systems: Option<BTreeSet<&str>> = group.iter().map(|rule| rule.os()).collect();
    if let Some(systems) = systems
        && let Some(any) = systems.first()
    {
        let selected = |key: &str| format!("object.?spec.?nodeSelector[?{}]", quoted(key));
        let (new, old) = (selected("kubernetes.io/os"), selected("beta.kubernetes.io/os"));
        let said = format!("object.?spec.?os.?name.or({new}).or({old}).orValue({})", quoted(any));
        let systems: Vec<_> = systems.iter().map(|system| quoted(system)).collect();
        let fits = format!("{said} in [{}]", systems.join(", "));
        conditions.push(("not-for-another-system", format!("{fits} || {spoken}")));
    }
    conditions.retain(|(_, expression)| expression.len() <= LONGEST);
    conditions
}

/// Nobody whom an administrator exempts; as many exemptions as fit.
fn not_exempt(all: &RuleSet) -> Option<String> {
    let said = exempt::all(all.settings()).filter_map(|exempt| match exempt {
        Exempt::Condition(holds) => Some(format!("!({holds})")),
        _ => None,
    });
    said.reduce(|all, next| if all.len() + next.len() < LONGEST { format!("{all} && {next}") } else { all })
        .filter(|expression| expression.len() <= LONGEST)
}

/// The same for rules that are too many to be named: whatever does not decline, under any key of ours or one that they listen
/// to, may be about one of them. Who declines each by its own name is asked about.
fn not_opted_out_of_all(group: &[&Rule]) -> String {
    let all_ask = group.iter().all(|rule| rule.requires_pod_opt_in());
    let others: BTreeSet<&str> = group.iter().flat_map(|rule| rule.compat_annotations()).collect();
    let mut terms = vec![not_declined(&quoted(INJECT_KEY), &[], all_ask)];
    if !others.is_empty() {
        let others: Vec<_> = others.into_iter().map(quoted).collect();
        let says = format!("{}.orValue('false') != 'false'", annotation("other"));
        terms.push(format!("[{}].exists(other, {says})", others.join(", ")));
    }
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
        let of_kind = group.iter().filter(|rule| rule.requires_pod_opt_in() == asked_for);
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
    if group.iter().all(|rule| rule.requires_pod_opt_in() && !rule.required()) {
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

/// Whether `holds` of a `key` among `keys`, those of the labels or those of the annotations; or they are too many.
fn any_key(holds: &str) -> String {
    format!(
        "[object.metadata.?labels.orValue({{}}), object.metadata.?annotations.orValue({{}})].exists(keys, \
         size(keys) > {MOST_KEYS} || keys.exists(key, {holds}))"
    )
}

fn domain() -> &'static str {
    RULE_KEY_PREFIX.trim_start_matches("inject.")
}

fn own_key(rule: &Rule) -> String {
    quoted(&format!("{RULE_KEY_PREFIX}{}", rule.name()))
}

pub(super) fn label(key: &str) -> String {
    format!("object.metadata.?labels[?{key}]")
}

fn annotation(key: &str) -> String {
    format!("object.metadata.?annotations[?{key}]")
}

/// Keys and names have no quotes in them.
fn quoted(text: &str) -> String {
    format!("'{text}'")
}
