//! Match conditions in CEL, which the API server evaluates before it calls: an object that opted out passes even while the
//! injector is down.
//!
//! No condition can fail on any object, since the failure policy would apply to it then. Conditions leave out objects that no
//! rule can be for; in all unclear cases the injector is called.

use std::collections::BTreeSet;

use vestibule_rules::{INJECT_KEY, MIRROR_ANNOTATION, OWN_KEYS, RULE_KEY_PREFIX, Resource, Rule, RuleSet};

use super::cel::{Metadata, quoted};
use super::exemption::Exemptions;
use super::selector;

/// The limit of an expression in bytes. The API server compiles at most 100,000 characters (cel-go's
/// `ExpressionSizeCodePointLimit`, which it does not change), and all entries together are one object.
const MAX_LENGTH: usize = 8 * 1024;

/// The number of labels or annotations up to which a condition searches keys; for an object with more the injector is called.
/// The API server ends a condition that costs more than 1,000,000 (`PerCallLimit`) and treats it as failed, so that `Fail`
/// would refuse the object. A step of a search costs about 10, and 0.1 for each character compared; 500 keys of any length,
/// each compared with as many names as an expression holds, cost less than half of the limit.
const MAX_KEYS: usize = 500;

/// Name and expression of the conditions for `group`, a part of the rules `all`, on these resources.
pub(super) fn of_group(
    group: &[&Rule],
    resources: &BTreeSet<Resource>,
    all: &RuleSet,
) -> Vec<(&'static str, String)> {
    let mut conditions = Vec::new();
    if resources.contains(&Resource::Pods) {
        conditions.push(not_static());
    }
    if resources.iter().any(|resource| *resource != Resource::Pods) {
        conditions.push(("not-being-deleted", "!has(object.metadata.deletionTimestamp)".to_owned()));
    }
    let required = group.iter().any(|rule| rule.required());
    if required && resources.iter().eq([&Resource::Pods]) {
        conditions.extend(environment(group));
    }
    conditions.extend(not_exempt(resources, all).map(|expression| ("not-exempt", expression)));
    // For rules that read different labels and annotations of a workload, the injector is called.
    if let Some(metadata) = Metadata::of_group(group, resources) {
        conditions.extend(selected(group, resources, &metadata).map(|expression| ("selected", expression)));
        let choices = [not_opted_out(group, all, &metadata), not_opted_out_of_all(group, &metadata)];
        // Without a short enough expression, the injector is called.
        let short = choices.into_iter().map(|one| metadata.bind(one)).find(|one| one.len() <= MAX_LENGTH);
        conditions.extend(short.map(|expression| ("not-opted-out", expression)));
    }
    conditions
}

/// Name and expression of the conditions for all pods that some rule may be for.
pub(super) fn of_pods(all: &RuleSet) -> Vec<(&'static str, String)> {
    let exempt = not_exempt(&BTreeSet::from([Resource::Pods]), all);
    std::iter::once(not_static()).chain(exempt.map(|expression| ("not-exempt", expression))).collect()
}

fn not_static() -> (&'static str, String) {
    let mirror = Metadata::of_object().annotation(&quoted(MIRROR_ANNOTATION));
    ("not-a-static-pod", format!("!{mirror}.hasValue()"))
}

/// The labels that all rules of `group` ask for. For pods alone the selector of the entry asks for them.
fn selected(group: &[&Rule], resources: &BTreeSet<Resource>, metadata: &Metadata) -> Option<String> {
    let is_workload = |resource: &Resource| *resource != Resource::Pods;
    let labels = selector::shared(group.iter().map(|rule| rule.object_selector()));
    let terms = metadata.meets(&labels);
    let is_needed = resources.iter().any(is_workload) && !terms.is_empty();
    Some(metadata.bind(terms.join(" && "))).filter(|expression| is_needed && expression.len() <= MAX_LENGTH)
}

/// Conditions that leave out pods which no rule of `group` changes because of their operating system or network. A pod with a key of
/// a rule is still sent to the injector, so that the injector can refuse it or warn about a value that it cannot read.
fn environment(group: &[&Rule]) -> Vec<(&'static str, String)> {
    let others: BTreeSet<&str> = group.iter().flat_map(|rule| rule.compat_annotations()).collect();
    let metadata = Metadata::of_object();
    let mut has_key = vec![any_key(
        &metadata,
        &format!("key == {} || key.startsWith({})", quoted(INJECT_KEY), quoted(RULE_KEY_PREFIX)),
    )];
    has_key.extend(others.iter().map(|other| format!("{}.hasValue()", metadata.annotation(&quoted(other)))));
    let has_key = has_key.join(" || ");
    let mut conditions = Vec::new();
    if group.iter().all(|rule| rule.skips_host_network()) {
        let own = "!object.?spec.?hostNetwork.orValue(false)";
        conditions.push(("not-in-the-network-of-its-node", format!("{own} || {has_key}")));
    }
    let systems: Option<BTreeSet<&str>> = group.iter().map(|rule| rule.os()).collect();
    if let Some(systems) = systems
        && let Some(any) = systems.first()
    {
        let selected = |key: &str| format!("object.?spec.?nodeSelector[?{}]", quoted(key));
        let (new, old) = (selected("kubernetes.io/os"), selected("beta.kubernetes.io/os"));
        let system = format!("object.?spec.?os.?name.or({new}).or({old}).orValue({})", quoted(any));
        let systems: Vec<_> = systems.iter().map(|system| quoted(system)).collect();
        let fits = format!("{system} in [{}]", systems.join(", "));
        conditions.push(("not-for-another-system", format!("{fits} || {has_key}")));
    }
    conditions.retain(|(_, expression)| expression.len() <= MAX_LENGTH);
    conditions
}

/// Leaves out objects that InjectorSettings exempt, with as many exemptions as fit.
fn not_exempt(resources: &BTreeSet<Resource>, all: &RuleSet) -> Option<String> {
    let metadata = Metadata::of_pods(resources);
    let with_workloads = !resources.iter().eq([&Resource::Pods]);
    let conditions = Exemptions::of(all.settings()).conditions(&metadata, with_workloads);
    let terms = conditions.into_iter().map(|condition| format!("!({})", metadata.bind(condition)));
    terms
        .reduce(
            |all, next| if all.len() + next.len() < MAX_LENGTH { format!("{all} && {next}") } else { all },
        )
        .filter(|expression| expression.len() <= MAX_LENGTH)
}

/// [`not_opted_out`] for more rules than an expression can name: any key of the injector, or of another injector that a rule
/// reads, whose value is not `false` may ask for a rule. For an object that opts out of each rule by name, the injector is
/// called.
fn not_opted_out_of_all(group: &[&Rule], metadata: &Metadata) -> String {
    let all_are_opt_in = group.iter().all(|rule| rule.requires_pod_opt_in());
    let others: BTreeSet<&str> = group.iter().flat_map(|rule| rule.compat_annotations()).collect();
    let mut terms = vec![not_declined(metadata, &quoted(INJECT_KEY), &[], all_are_opt_in)];
    if !others.is_empty() {
        let others: Vec<_> = others.into_iter().map(quoted).collect();
        let opts_in = format!("{}.orValue('false') != 'false'", metadata.annotation("other"));
        terms.push(format!("[{}].exists(other, {opts_in})", others.join(", ")));
    }
    let may_only_warn = all_are_opt_in && !group.iter().any(|rule| rule.required());
    terms.push(match may_only_warn {
        true => misspelt(metadata, Vec::new()),
        false => {
            any_key(metadata, &format!("key.startsWith({}) && keys[key] != 'false'", quoted(RULE_KEY_PREFIX)))
        }
    });
    terms.join(" || ")
}

/// Whether the object did not opt out of some rule. The rule's own key decides, else a key of another injector that the rule
/// reads, else the key for all rules; of each key the label, else the annotation. `false` opts out, and so does the absence of
/// all keys for a rule that is opt-in.
fn not_opted_out(group: &[&Rule], all: &RuleSet, metadata: &Metadata) -> String {
    let mut terms = Vec::new();
    for is_opt_in in [false, true] {
        let of_kind = group.iter().filter(|rule| rule.requires_pod_opt_in() == is_opt_in);
        let (plain, with_others): (Vec<&Rule>, Vec<&Rule>) =
            of_kind.copied().partition(|rule| rule.compat_annotations().next().is_none());
        match plain.as_slice() {
            [] => {}
            [rule] => terms.push(not_declined(metadata, &own_key(rule), &[], is_opt_in)),
            rules => {
                let names = rules.iter().map(|rule| quoted(rule.name()));
                let key = format!("{} + rule", quoted(RULE_KEY_PREFIX));
                let one = not_declined(metadata, &key, &[], is_opt_in);
                terms.push(format!("[{}].exists(rule, {one})", names.collect::<Vec<_>>().join(", ")));
            }
        }
        terms.extend(with_others.into_iter().map(|rule| {
            let others: Vec<_> = rule.compat_annotations().collect();
            not_declined(metadata, &own_key(rule), &others, is_opt_in)
        }));
    }
    if group.iter().all(|rule| rule.requires_pod_opt_in() && !rule.required()) {
        terms.push(misspelt(metadata, all.rules().iter().map(own_key).collect()));
    }
    terms.join(" || ")
}

fn not_declined(metadata: &Metadata, key: &str, others: &[&str], is_opt_in: bool) -> String {
    let mut keys = vec![metadata.label(key), metadata.annotation(key)];
    keys.extend(others.iter().map(|other| metadata.annotation(&quoted(other))));
    let all_rules = quoted(INJECT_KEY);
    keys.extend([metadata.label(&all_rules), metadata.annotation(&all_rules)]);
    let value = keys.into_iter().reduce(|keys, next| format!("{keys}.or({next})")).unwrap_or_default();
    let default = if is_opt_in { "false" } else { "" };
    format!("{value}.orValue('{default}') != 'false'")
}

/// Whether an object has a key that is almost one of the injector's, or of the keys `known`, so that the injector can warn about
/// it. Not for required rules: a failed call would refuse an object because of a key that may belong to another program.
fn misspelt(metadata: &Metadata, mut known: Vec<String>) -> String {
    known.extend(OWN_KEYS.map(quoted));
    let domain = RULE_KEY_PREFIX.trim_start_matches("inject.");
    any_key(metadata, &format!("key.contains({}) && !(key in [{}])", quoted(domain), known.join(", ")))
}

/// Whether the expression `holds` is true for a `key` of the labels or the annotations (`keys`), or there are too many keys.
fn any_key(metadata: &Metadata, holds: &str) -> String {
    let maps = metadata.maps();
    format!("{maps}.exists(keys, size(keys) > {MAX_KEYS} || keys.exists(key, {holds}))")
}

/// The key of a rule, in CEL.
fn own_key(rule: &Rule) -> String {
    quoted(&selector::own_key(rule))
}
