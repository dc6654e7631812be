//! Checks of requests, limits and claims. A pod with resources of its own (KEP-2837) limits those of its containers.

use std::borrow::Cow;
use std::collections::HashMap;

use vestibule_patch::{Pointer, View};

use super::pod::{Container, Pod, items, names_of};
use super::{FieldCheck, Objects, written};
use crate::diagnostic::printable_short;
use crate::merge::contains::present;
use crate::merge::{Failure, Merge};
use crate::quantity::rounded_nanos;
use crate::rule::{OnConflict, Part, Rule};
use crate::subject::{is_native_sidecar, string_member};

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck::of_container(&[], &["resources"], |_, container| over_limit(container.view)),
    FieldCheck::of_container(&[], &["resources"], |_, container| huge_pages(container.view)),
    FieldCheck::of_container(&[], &["resources"], claims),
    FieldCheck::of_pod(&["resources"], |pod| over_limit(pod.spec).as_deref().map(of_pod)),
    FieldCheck::of_pod(&["resources"], huge_pages_of_pod),
    FieldCheck::of_pod(&["resources"], excess).with_container(&["resources"]),
];

impl Merge<'_, '_, '_, '_> {
    /// Removes amounts of the pod that are the sum of those of its containers, which the rule has raised. The API server derives an
    /// absent request of a pod with limits from its containers before it calls webhooks, and again afterwards; for huge pages it
    /// derives the limit.
    pub(in crate::merge) fn remove_derived_amounts(&mut self) -> Result<(), Failure> {
        let rule = self.rule;
        let injected = rule.injected.iter().map(|one| &one.item);
        let injected = injected.filter(|item| item.overlay.get("resources").is_some());
        let blocks = rule.blocks.iter().flat_map(|block| written(block.parts.iter()));
        let blocks = blocks.filter(|(field, _)| *field == "resources").map(|(_, clause)| clause);
        let mut clauses = injected.map(|item| &item.clause).chain(blocks);
        // In the template of a workload nothing is derived.
        let clause = clauses.next().filter(|_| self.draft.layout.completes.is_none());
        let Some(clause) = clause else { return Ok(()) };
        self.raised_amounts().into_iter().try_for_each(|amount| self.remove(clause, amount))
    }

    fn raised_amounts(&self) -> Vec<Pointer> {
        let Objects { changed: Some(changed), received: Some(received) } = self.objects() else {
            return Vec::new();
        };
        if amounts_of_pod(&received, "limits").next().is_none() {
            return Vec::new();
        }
        let resources = self.draft.layout.spec.child("resources");
        let is_raised = |group: &str, key: &str, amount: View<'_>| {
            let sum = requested(&received, key);
            (group == "requests" || is_huge_pages(key))
                && nanos(amount) == Some(sum)
                && requested(&changed, key) > sum
                && !self.is_demanded(group, key)
        };
        let of_group = |group: &'static str| {
            let raised =
                amounts_of_pod(&changed, group).filter(move |(key, amount)| is_raised(group, key, *amount));
            raised.map(|(key, _)| resources.child(group).child(&key))
        };
        ["limits", "requests"].into_iter().flat_map(of_group).collect()
    }

    /// Whether the rule writes the amount of the pod, or an earlier rule writes it that would not keep another one in the next
    /// evaluation.
    fn is_demanded(&self, group: &str, key: &str) -> bool {
        let is_amount = |part: &&Part| {
            let path = part.path.iter().chain([&part.item.key]);
            path.zip(["resources", group, key]).all(|(written, name)| written == name)
        };
        let demands = |rule: &Rule| {
            rule.spec.iter().filter(is_amount).any(|part| part.item.on_conflict != OnConflict::Keep)
        };
        if self.rule.spec.iter().any(|part| is_amount(&part)) {
            return true;
        }
        let mut earlier = self.context.rules.iter().take(self.rank);
        let Some(other) = earlier.position(|rule| demands(rule)) else { return false };
        // The other rule may have failed in this round, and without it nothing is demanded.
        self.context.dependencies.borrow_mut().yields_to(self.rank, other);
        true
    }
}

/// The error in the request and the limit of one resource of a container, or of the pod.
fn over_limit(object: View<'_>) -> Option<String> {
    let resources = present(object, "resources")?;
    let requests = present(resources, "requests")?;
    let limits = present(resources, "limits").map(View::entries).unwrap_or_default();
    let limits: HashMap<_, _> = limits.into_iter().collect();
    requests.entries().into_iter().find_map(|(key, request)| {
        // Huge pages and extended resources cannot be overcommitted.
        let exact = is_huge_pages(&key) || key.contains('/') && !key.contains("kubernetes.io/");
        let (request, shown) = (nanos(request)?, printable_short(&key));
        match limits.get(&key).and_then(|limit| nanos(*limit)) {
            Some(limit) if request > limit => {
                Some(format!("more `{shown}` would be requested than its limit allows"))
            }
            Some(limit) if exact && request != limit => {
                Some(format!("request and limit of `{shown}` have to be equal"))
            }
            None if exact => Some(format!("a request of `{shown}` needs a limit that is equal")),
            _ => None,
        }
    })
}

fn huge_pages_of_pod(pod: &Pod<'_>) -> Option<String> {
    // The API server gives a pod of its own, but no template, the requests of its containers.
    let is_derived = |key| pod.containers().any(|container| request(container.view, key).is_some());
    let has_derived = pod.completes.is_none() && (is_derived("cpu") || is_derived("memory"));
    huge_pages(pod.spec).filter(|_| !has_derived).as_deref().map(of_pod)
}

/// The sentence about the resources of the pod, which containers have too.
fn of_pod(sentence: &str) -> String {
    format!("the pod itself: {sentence}")
}

/// The error in the huge pages of a container, or of the pod.
fn huge_pages(object: View<'_>) -> Option<String> {
    let resources = present(object, "resources")?;
    let groups = ["limits", "requests"].into_iter().filter_map(|group| present(resources, group));
    let names: Vec<Cow<'_, str>> = groups.flat_map(View::entries).map(|(name, _)| name).collect();
    let has_other = names.iter().any(|name| ["cpu", "memory"].contains(&&**name));
    (!has_other && names.iter().any(|name| is_huge_pages(name)))
        .then(|| "huge pages need `cpu` or `memory` as well".to_owned())
}

fn claims(pod: &Pod<'_>, container: Container<'_>) -> Option<String> {
    let wanted = items(present(container.view, "resources")?, "claims");
    let mut wanted = wanted.filter_map(|claim| string_member(claim, "name"));
    let of_pod = || pod.lookups.claims.get_or_init(|| names_of(items(pod.spec, "resourceClaims")));
    let missing = wanted.find(|name| !of_pod().contains(name))?;
    Some(format!("the pod has no resource claim `{}`", printable_short(&missing)))
}

/// How many resources of a pod are compared, each with those of all containers. There are two, and one for each size of huge pages.
const MOST_KEYS: usize = 16;

/// The API server refuses a pod whose containers request more, or one of whose regular containers has a higher limit. An injected
/// container counts too.
fn excess(pod: &Pod<'_>) -> Option<String> {
    for (key, limit) in amounts_of_pod(pod, "limits") {
        let limit = nanos(limit)?;
        let is_higher = |container: &View<'_>| amount(*container, "limits", &key) > Some(limit);
        if let Some(container) = items(pod.spec, "containers").find(is_higher) {
            let name = printable_short(&string_member(container, "name").unwrap_or_default());
            let key = printable_short(&key);
            return Some(format!("container `{name}` would have a higher limit of `{key}` than the pod"));
        }
    }
    // Without a request of the pod, the API server takes that of its containers, which the limit of the pod bounds.
    for (key, amount) in amounts_of_pod(pod, "requests").chain(amounts_of_pod(pod, "limits")) {
        if requested(pod, &key) > nanos(amount)? {
            let key = printable_short(&key);
            return Some(format!("the containers would request more `{key}` than the pod"));
        }
    }
    None
}

/// The requests or the limits of the pod itself.
fn amounts_of_pod<'d>(
    pod: &Pod<'d>,
    group: &str,
) -> impl Iterator<Item = (Cow<'d, str>, View<'d>)> + use<'d> {
    let amounts = present(pod.spec, "resources").and_then(|resources| present(resources, group));
    let is_of_pod = |key: &str| ["cpu", "memory"].contains(&key) || is_huge_pages(key);
    let entries = amounts.map(View::entries).unwrap_or_default().into_iter();
    entries.filter(move |(key, _)| is_of_pod(key)).take(MOST_KEYS)
}

/// The request of all containers together: the highest sum of those that run at a time.
fn requested(pod: &Pod<'_>, key: &str) -> i128 {
    let request = |container| request(container, key).unwrap_or_default();
    let (mut lasting, mut highest) = (0_i128, 0);
    for container in items(pod.spec, "initContainers") {
        let own = request(container);
        highest = highest.max(own.saturating_add(lasting));
        if is_native_sidecar(container) {
            lasting = own.saturating_add(lasting);
        }
    }
    highest.max(items(pod.spec, "containers").map(request).fold(lasting, i128::saturating_add))
}

/// The request of a container. The API server takes its limit if it has none.
fn request(container: View<'_>, key: &str) -> Option<i128> {
    amount(container, "requests", key).or_else(|| amount(container, "limits", key))
}

fn amount(container: View<'_>, group: &str, key: &str) -> Option<i128> {
    nanos(present(present(present(container, "resources")?, group)?, key)?)
}

fn is_huge_pages(key: &str) -> bool {
    key.starts_with("hugepages-")
}

fn nanos(amount: View<'_>) -> Option<i128> {
    rounded_nanos(&amount.as_str().unwrap_or_else(|| amount.to_json()))
}
