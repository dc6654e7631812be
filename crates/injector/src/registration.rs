//! What the API server is told of rules: whom to call us for.
//!
//! Selectors and conditions are a superset of what rules take: nothing that a rule would change is kept from us. What a required
//! rule would only refuse or warn about is, where the rule is not wanted anyway (ADR 0037), and so is what opted out by a label
//! or annotation of its own: it passes while the injector is down.

mod condition;
mod exempt;
mod refusal;
mod selector;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;
use vestibule::{Entries, Entry, FailurePolicy, On, Operation, Raw, Rule as Resources, SideEffects, on_raw};
use vestibule_rules::{Diagnostic, Mode, Resource, Rule, RuleSet, Verb};

use crate::{Snapshot, State};
use selector::Restriction;

/// The hook of rules that a pod must not slip past. It fails closed.
pub(crate) const REQUIRED: &str = "required";
/// The hook of all other rules. It fails open.
pub(crate) const BEST_EFFORT: &str = "best-effort";

/// More entries than these are not written where fewer do: the API server goes through all of them for every object, and
/// takes no configuration of more than 1.5 MiB.
const MOST_ENTRIES: usize = 32;

/// The entries for `rules`, in the order they are to be called in: for required rules one for each distinct restriction to
/// namespaces (beyond 32, for each label that restrictions ask for), all of them calling one hook; for the others one together. None where the settings say `mode: off`.
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
///   match: {namespaces: {matchLabels: {team: blue}}}
///   pod: {labels: {team: blue}}
/// ")]).map_err(|findings| findings[0].headline())?;
///
/// let entries = registration::entries(&rules).map_err(|findings| findings[0].headline())?;
/// assert_eq!(entries.iter().map(|entry| entry.name()).collect::<Vec<_>>(), ["required"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// Required rules that would keep more from starting than anybody means while the injector is down, each with its remedy.
pub fn entries(rules: &RuleSet) -> Result<Vec<Entry>, Vec<Diagnostic>> {
    if rules.settings().mode() == Mode::Off {
        return Ok(Vec::new());
    }
    let findings = refusal::findings(rules);
    if !findings.is_empty() {
        return Err(findings);
    }
    let (required, others): (Vec<&Rule>, Vec<&Rule>) = rules.rules().iter().partition(|rule| rule.required());
    let mut entries = Vec::new();
    for (position, group) in grouped(&required).iter().enumerate() {
        // By number: what changes its restriction stays the entry it was, and metrics know few names.
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
    Ok(entries)
}

/// Required rules by their restriction to namespaces: one must not keep from starting what is in namespaces of another.
/// Where that makes too many, those that ask for one and the same label are together: their entry is for the same
/// namespaces, and says less about the objects in them.
fn grouped<'r>(required: &[&'r Rule]) -> Vec<Vec<&'r Rule>> {
    let by = |restriction: &dyn Fn(&Rule) -> Restriction| {
        let mut groups = BTreeMap::<Restriction, Vec<&Rule>>::new();
        for rule in required {
            groups.entry(restriction(rule)).or_default().push(rule);
        }
        groups
    };
    let exact = by(&Restriction::of);
    let groups =
        if exact.len() > MOST_ENTRIES { by(&|rule| Restriction::of(rule).in_common()) } else { exact };
    groups.into_values().collect()
}

/// For the entries of both hooks; none yet.
pub(crate) fn of_hooks() -> Entries {
    Entries::of([REQUIRED, BEST_EFFORT])
}

/// Tells of the rules of a snapshot. Those that cannot be registered can be tried all the same: whoever registers them has
/// asked before. While there are no rules yet, nothing is known of those to come.
pub(crate) fn announce(snapshot: &Snapshot, to: &Entries) {
    if snapshot.state() == State::Waiting {
        return;
    }
    if let Ok(entries) = entries(snapshot.rules())
        && let Err(error) = to.set(entries)
    {
        tracing::error!(%error, "the API server is told of the former rules");
    }
}

/// Tells of every snapshot, once it is in force: whoever is called then knows its rules.
pub(crate) async fn follow(mut snapshots: watch::Receiver<Arc<Snapshot>>, to: Entries) {
    while snapshots.changed().await.is_ok() {
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        announce(&snapshot, &to);
    }
}

/// When any of `group`, all of them required or none, may have something to say.
fn on(group: &[&Rule], all: &RuleSet) -> On<Raw> {
    let resources: BTreeSet<Resource> = group.iter().flat_map(|rule| rule.targets()).copied().collect();
    let on = on_raw(resources.iter().copied().map(self::resources))
        .namespaces(&selector::of_namespaces(group, all.settings()))
        .objects(&selector::of_objects(group, all.settings()))
        .side_effects(SideEffects::NoneOnDryRun);
    let on = if all.settings().injects_own_namespace() { on.own_namespace() } else { on };
    let conditions = condition::all(group, &resources, all);
    conditions.iter().fold(on, |on, (name, expression)| on.match_condition(name, expression))
}

/// What rules act on: the resource under the verbs that change it.
pub(crate) fn resources(resource: Resource) -> Resources {
    let operations = resource.verbs().iter().map(|verb| match verb {
        Verb::Create => Operation::Create,
        Verb::Update => Operation::Update,
        Verb::Delete => Operation::Delete,
        Verb::Connect => Operation::Connect,
    });
    Resources::new(resource.api_version(), resource.as_str(), operations)
}
