//! A18: the annotation of a user is used as a value or refused. It never becomes YAML, JSON, a template or a pointer, and
//! no message repeats it.

use serde_json::{Value, json};
use vestibule_rules::{Decision, Outcome, RuleSet};

use super::{APP, annotated};
use crate::kit::{applied, codes, creation, decide, rule, rules, word};

/// It is in each value; no message may contain it.
const CANARY: &str = "c4nary";

/// Values of one line that look like another syntax.
const ONE_LINE: [&str; 9] = [
    "c4nary: {securityContext: {privileged: true}}",
    "{\"c4nary\": {\"hostNetwork\": true}}",
    "\"}],\"hostNetwork\":true,\"c4nary\":[{\"y\":\"",
    "{{template \"c4nary\" .}}{{ .Values.c4nary }}",
    "{$cel: object.c4nary}",
    "' + object.metadata.name + 'c4nary",
    "../../../etc/c4nary",
    "~1spec~1hostNetwork/c4nary/-",
    "*c4nary &c4nary !!python/object",
];
/// Values of several lines, with control characters, or with a reference for the kubelet.
const MORE: [&str; 7] = [
    "c4nary\n    securityContext: {privileged: true}\n",
    "c4nary\r\n---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: c4nary}\n",
    "$(c4nary)",
    "c4nary\u{0}",
    "\u{1b}[2J\u{7}c4nary",
    "c4nary\u{85}",
    "\tc4nary",
];

fn with(value: &str) -> String {
    annotated(&json!({"example.com/any": value}).to_string(), APP)
}

/// The decision about a pod with this annotation. No message of it may contain the value.
fn decision_without_canary(rules: &RuleSet, value: &str) -> Decision {
    let object = with(value);
    let explanation = rules.explain(&creation(&object)).unwrap();
    let [explained] = &explanation.rules[..] else { panic!("one rule") };
    let decision = decide(rules, &object);
    let gates = explained.gates.iter().map(|gate| format!("{} {}", gate.name, gate.sentence));
    let clauses = explained.clauses.iter().map(|clause| format!("{} {}", clause.text, clause.sentence));
    let origins = decision.changes().iter().map(|change| change.origin.clause.to_string());
    let words = decision.warnings.iter().cloned().chain(gates).chain(clauses).chain(origins);
    let text = words.chain(sentences(&decision)).collect::<Vec<_>>().join("\n");
    assert!(!text.contains(CANARY), "{value:?}: {text}");
    decision
}

fn sentences(decision: &Decision) -> impl Iterator<Item = String> {
    decision.verdicts.iter().filter_map(|verdict| match &verdict.outcome {
        Outcome::Skipped { sentence, .. } => Some(sentence.to_string()),
        Outcome::Denied { message, .. } => Some(message.clone()),
        _ => None,
    })
}

/// All paths of the object after the rule, and the paths at which the value stands unchanged.
fn paths_after(rules: &RuleSet, value: &str) -> (Vec<String>, Vec<String>) {
    let (mut paths, mut holds) = (Vec::new(), Vec::new());
    let object: Value = serde_json::from_str(&applied(rules, &creation(&with(value)))).unwrap();
    let mut left = vec![(String::new(), &object)];
    while let Some((path, place)) = left.pop() {
        match place {
            Value::Object(members) => {
                left.extend(members.iter().map(|(key, member)| (format!("{path}/{key}"), member)));
            }
            Value::Array(items) => {
                left.extend(items.iter().enumerate().map(|(at, item)| (format!("{path}/{at}"), item)));
            }
            _ if place == value => holds.push(path.clone()),
            _ => {}
        }
        paths.push(path);
    }
    paths.sort();
    holds.sort();
    (paths, holds)
}

/// Every kind of field that takes a text: environment, arguments, annotations, paths, names of other objects.
const PLACES: &str = "
pod: {annotations: {copy: {$cel: VALUE}}}
volumes: [{name: v, configMap: {name: {$cel: VALUE}}}]
sidecars:
- {name: s, image: {$cel: VALUE}, args: [{$cel: VALUE}], env: [{name: A, value: {$cel: VALUE}}]}
containerPatches:
- select: {all: true}
  env: [{name: A, value: {$cel: VALUE}}]
  volumeMounts: [{name: v, mountPath: /v, subPath: {$cel: VALUE}}]
";

fn everywhere(parameters: &str, value: &str) -> RuleSet {
    rules(&rule("r", &format!("{parameters}{}", PLACES.replace("VALUE", value))))
}

#[test]
fn a18_a_value_is_held_as_it_is_or_refused_with_a_reason() {
    let bounded =
        everywhere("parameters: [{name: any, type: string, annotation: example.com/any}]", "params.any");
    let (paths, holds) = paths_after(&bounded, CANARY);
    assert_eq!(holds.len(), 8, "{holds:?}");
    for value in ONE_LINE {
        assert_eq!(word(&decision_without_canary(&bounded, value)), "applied", "{value:?}");
        assert_eq!(paths_after(&bounded, value), (paths.clone(), holds.clone()), "{value:?}");
    }
    let wanted = "rule r was left out: annotation `example.com/any` of the pod wants text without control characters and `$(`, at most 1024 characters";
    for value in MORE {
        let decision = decision_without_canary(&bounded, value);
        assert_eq!((word(&decision), &*decision.warnings), ("invalid_parameter", &[wanted.to_owned()][..]));
        assert!(decision.changes().is_empty(), "{value:?}");
    }
    // A parameter without bounds, or an expression, uses every value unchanged.
    let open = "parameters: [{name: any, type: string, pattern: '(?s).*', annotation: example.com/any}]";
    for rules in
        [everywhere(open, "params.any"), everywhere("", "\"object.metadata.annotations['example.com/any']\"")]
    {
        for value in ONE_LINE.into_iter().chain(MORE) {
            assert_eq!(word(&decision_without_canary(&rules, value)), "applied", "{value:?}");
            assert_eq!(paths_after(&rules, value), (paths.clone(), holds.clone()), "{value:?}");
        }
    }
}

/// The API server validates these fields.
#[test]
fn a18_a_value_must_be_valid_for_the_field_that_uses_it() {
    let at = |place: &str| {
        let value = "\"object.metadata.annotations['example.com/any']\"";
        rule("r", &place.replace("VALUE", value))
    };
    for (place, wants, fits) in [
        ("pod: {labels: {copy: {$cel: VALUE}}}", "at most 63 letters, digits,", "c4nary"),
        (
            "containerPatches: [{select: {all: true}, resources: {requests: {cpu: {$cel: VALUE}}}}]",
            "wants a quantity",
            "100m",
        ),
        (
            "containerPatches: [{select: {all: true}, ports: [{name: {$cel: VALUE}, containerPort: 80}]}]",
            "the name of a port wants",
            "web",
        ),
    ] {
        for required in ["", "required: true\n"] {
            let rules = rules(&at(&format!("{required}{place}")));
            for value in ONE_LINE.into_iter().chain(MORE) {
                let decision = decision_without_canary(&rules, value);
                let reason = decision.denial().or_else(|| decision.warnings.first().cloned()).unwrap();
                assert!(reason.contains("rule r ") && reason.contains(wants), "{value:?}: {reason}");
                assert!(decision.changes().is_empty(), "{place} {value:?}");
            }
            assert_eq!(word(&decide(&rules, &with(fits))), "applied", "{place}");
        }
    }
    // Keys of lists come from the rule, so that no value adds a second item.
    for place in [
        "sidecars: [{name: {$cel: VALUE}, image: i}]",
        "volumes: [{name: {$cel: VALUE}, emptyDir: {}}]",
        "containerPatches: [{select: {all: true}, env: [{name: {$cel: VALUE}, value: x}]}]",
        "containerPatches: [{select: {all: true}, volumeMounts: [{name: v, mountPath: {$cel: VALUE}}]}]",
    ] {
        let codes = codes(&at(place));
        let is_expected = |code: &&str| ["VST0111", "VST0135"].contains(code);
        assert!(!codes.is_empty() && codes.iter().all(is_expected), "{place}: {codes:?}");
    }
}
