//! The webhook entries for rules: for which objects the API server calls the injector.
//!
//! Selectors and conditions select a superset of the objects that rules change. They leave out objects that opted out by a
//! label or annotation, so that these pass while the injector is down, and objects that a required rule would only refuse or
//! warn about where its namespace does not want it (ADR 0037).

mod cel;
mod exemption;
mod match_conditions;
mod refusal;
mod selector;

use std::collections::{BTreeMap, BTreeSet};

use vestibule::tooling::Entry;
use vestibule::{FailurePolicy, On, Operation, Raw, Rule as Resources, SideEffects, on_raw};
use vestibule_rules::{Diagnostic, Mode, Resource, Rule, RuleSet, Verb};

use self::selector::NamespaceRestriction;

/// The hook for required rules. It fails closed.
pub(crate) const REQUIRED: &str = "required";
/// The hook for all other rules. It fails open.
pub(crate) const BEST_EFFORT: &str = "best-effort";

/// The entry for rules of namespaces, of the hook [`BEST_EFFORT`].
const NAMESPACED: &str = "namespaced";

/// The number of entries above which rules share entries by label. The API server evaluates all entries for every object,
/// and refuses a configuration of more than 1.5 MiB.
const MAX_EXACT_ENTRIES: usize = 32;

/// The entries for `rules`, in the order of their calls: one for each distinct restriction of required rules to namespaces
/// (beyond 32, one for each label in restrictions), all of the hook `required`, one for all other rules, and one for rules of namespaces, if the settings
/// switch them on. There are none in `mode: off`.
///
/// ```
/// use vestibule_injector::{compile, registration};
///
/// let rules = compile([("team.yaml", "\
/// apiVersion: vestibule.dev/v1alpha1
/// kind: Injection
/// metadata: {name: team}
/// spec:
///   required: true
///   match: {namespaceSelector: {matchLabels: {team: blue}}}
///   pod: {labels: {team: blue}}
/// ")]).map_err(|findings| findings[0].headline())?;
///
/// let entries = registration::entries(&rules).map_err(|findings| findings[0].headline())?;
/// assert_eq!(entries.iter().map(|entry| entry.name()).collect::<Vec<_>>(), ["required"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// Required rules that would stop too many pods from starting while the injector is down, each with its remedy.
pub fn entries(rules: &RuleSet) -> Result<Vec<Entry>, Vec<Diagnostic>> {
    if rules.settings().mode == Mode::Off {
        return Ok(Vec::new());
    }
    let findings = refusal::findings(rules);
    if !findings.is_empty() {
        return Err(findings);
    }
    let (required, others): (Vec<&Rule>, Vec<&Rule>) = rules.rules().iter().partition(|rule| rule.required());
    let mut entries = Vec::new();
    for (position, group) in grouped(&required).iter().enumerate() {
        // Names have numbers, so that an entry keeps its name when its restriction changes, and metrics have few names.
        let name = if position == 0 { REQUIRED.to_owned() } else { format!("{REQUIRED}-{}", position + 1) };
        entries.push(Entry::new(REQUIRED, &name, on(group, rules).failure_policy(FailurePolicy::Fail)));
    }
    if !others.is_empty() {
        entries.push(Entry::new(
            BEST_EFFORT,
            BEST_EFFORT,
            on(&others, rules).failure_policy(FailurePolicy::Ignore),
        ));
    }
    if rules.settings().namespaced.is_some() {
        entries.push(Entry::new(BEST_EFFORT, NAMESPACED, on_namespaced(rules)));
    }
    Ok(entries)
}

/// The pods that rules of namespaces may change. It does not depend on these rules: a team that changes its rules does not make the
/// API server read the configuration again.
fn on_namespaced(all: &RuleSet) -> On<Raw> {
    let pods = BTreeSet::from([Resource::Pods]);
    on_resources(&[], &pods, all, &match_conditions::of_pods(all)).failure_policy(FailurePolicy::Ignore)
}

/// Groups required rules by their restriction to namespaces, so that one rule does not stop pods in the namespaces of another
/// rule. If there are too many groups, rules that restrict by one and the same label share a group: its entry is for the same
/// namespaces, with weaker conditions on objects.
fn grouped<'r>(required: &[&'r Rule]) -> Vec<Vec<&'r Rule>> {
    let by = |restriction: &dyn Fn(&Rule) -> NamespaceRestriction| {
        let mut groups = BTreeMap::<NamespaceRestriction, Vec<&Rule>>::new();
        for rule in required {
            groups.entry(restriction(rule)).or_default().push(rule);
        }
        groups
    };
    let exact = by(&NamespaceRestriction::of);
    let groups = if exact.len() > MAX_EXACT_ENTRIES {
        by(&|rule| NamespaceRestriction::of(rule).in_common())
    } else {
        exact
    };
    groups.into_values().collect()
}

/// The objects that any rule of `group` may change, deny or warn about. All rules of it are required, or none is.
fn on(group: &[&Rule], all: &RuleSet) -> On<Raw> {
    let resources: BTreeSet<Resource> = group.iter().flat_map(|rule| rule.targets()).copied().collect();
    on_resources(group, &resources, all, &match_conditions::of_group(group, &resources, all))
}

/// Objects of these resources that rules of `group` may be for and that meet the match conditions.
fn on_resources(
    group: &[&Rule],
    resources: &BTreeSet<Resource>,
    all: &RuleSet,
    conditions: &[(&'static str, String)],
) -> On<Raw> {
    let settings = all.settings();
    let on = on_raw(resources.iter().copied().map(self::resources))
        .namespaces(&selector::of_namespaces(group, settings))
        .objects(&selector::of_objects(group, resources, settings))
        .side_effects(SideEffects::NoneOnDryRun);
    let on = if settings.own_namespace { on.own_namespace() } else { on };
    conditions.iter().fold(on, |on, (name, expression)| on.match_condition(name, expression))
}

/// The resource under the operations for which rules act on it.
pub(crate) fn resources(resource: Resource) -> Resources {
    let operations = resource.verbs().iter().map(|verb| match verb {
        Verb::Create => Operation::Create,
        Verb::Update => Operation::Update,
        Verb::Delete => Operation::Delete,
        Verb::Connect => Operation::Connect,
    });
    Resources::new(resource.api_version(), resource.as_str(), operations)
}
