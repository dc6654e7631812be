//! A rule is applied wholly or not at all, a second evaluation changes nothing, and unknown fields survive.

use proptest::prelude::*;
use serde_json::Value;
use vestibule_rules::{Decision, Outcome, RuleSet};

use super::cases;
use super::generated::{requests, specs};
use crate::kit::{applied, evaluate, made, rule, rules};

const NAMES: [&str; 3] = ["one", "two", "three"];

fn loaded(specs: &[String], kept: impl Fn(&str) -> bool) -> RuleSet {
    let named = specs.iter().zip(NAMES).filter(|(_, name)| kept(name));
    rules(&named.map(|(spec, name)| rule(name, spec)).collect::<String>())
}

/// The rules that were not applied.
fn left_out(decision: &Decision) -> Vec<&str> {
    let out = decision.verdicts.iter().filter(|one| matches!(one.outcome, Outcome::Skipped { .. }));
    out.map(|one| &*one.rule).collect()
}

proptest! {
    #![proptest_config(cases(250))]

    /// A second evaluation changes nothing, and an independent implementation of RFC 6902 agrees: `applied` checks both.
    #[test]
    fn a_second_evaluation_changes_nothing(request in requests(), specs in specs()) {
        applied(&loaded(&specs, |_| true), &request.creation(&request.pod.to_string()));
    }

    /// The result is the same as without the rules that were not applied. If a rule denies, there is no patch.
    #[test]
    fn a_rule_is_applied_wholly_or_leaves_no_trace(request in requests(), specs in specs()) {
        let pod = request.pod.to_string();
        let decision = evaluate(&loaded(&specs, |_| true), &request.creation(&pod));
        if decision.denial().is_some() {
            prop_assert!(decision.changes().is_empty());
            return Ok(());
        }
        let out = left_out(&decision);
        for change in decision.changes() {
            prop_assert!(!out.contains(&&*change.origin.rule), "{} left {}", change.origin, pod);
        }
        let without = evaluate(&loaded(&specs, |name| !out.contains(&name)), &request.creation(&pod));
        prop_assert_eq!(made(&decision, &pod), made(&without, &pod));
        prop_assert!(left_out(&without).is_empty());
    }

    /// Unknown fields survive byte by byte, in any object of the pod.
    #[test]
    fn unknown_fields_survive(
        request in requests(),
        specs in specs(),
        places in prop::collection::vec((any::<prop::sample::Index>(), unknown()), 1..8),
    ) {
        let mut pod = request.pod.clone();
        for (number, (place, _)) in places.iter().enumerate() {
            let objects = objects_of(&pod);
            let object = pod.pointer_mut(&objects[place.index(objects.len())]).unwrap();
            object[format!("unknown-{number}")] = format!("@{number}@").into();
        }
        let mut text = pod.to_string();
        for (number, (_, json)) in places.iter().enumerate() {
            text = text.replace(&format!("\"@{number}@\""), json);
        }
        let result = applied(&loaded(&specs, |_| true), &request.creation(&text));
        for (number, (_, json)) in places.iter().enumerate() {
            let field = format!("\"unknown-{number}\":{json}");
            prop_assert!(result.contains(&field), "{field} is lost: {result}");
        }
    }
}

/// JSON texts that a serializer would not reproduce.
fn unknown() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "1.0",
            "1E40",
            "123456789012345678901234567890",
            "[ 1 ,{}]",
            r#"{"a":1,"a":2}"#,
            r#""\u0041\/""#,
            "null",
            "[[]]",
        ][..],
    )
}

/// Pointers of objects that may have unknown fields: the pod, and items of lists that no rule removes.
fn objects_of(pod: &Value) -> Vec<String> {
    let mut found: Vec<String> = ["", "/metadata", "/spec"].map(str::to_owned).into();
    for list in ["containers", "initContainers", "volumes"] {
        for container in items(pod, &format!("/spec/{list}")) {
            for inner in ["env", "volumeMounts", "ports"] {
                found.extend(items(pod, &format!("{container}/{inner}")));
            }
            found.push(container);
        }
    }
    found
}

fn items(pod: &Value, list: &str) -> Vec<String> {
    let items = pod.pointer(list).and_then(Value::as_array);
    let stays = items.into_iter().flatten().enumerate().filter(|(_, item)| !is_removable(item));
    stays.map(|(index, _)| format!("{list}/{index}")).collect()
}

/// Whether rules may remove this item of a list.
fn is_removable(item: &Value) -> bool {
    item["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("gone")) || item["containerPort"] == 80
}
