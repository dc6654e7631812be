//! Why a rule acts or not, gate by gate and part by part.

use vestibule_rules::{Effect, Explanation, Gate, GateResult, NamespaceFacts, RuleSet, Subject};

use crate::kit::{creation, facts, pod, rule, rules};

fn explain(rules: &RuleSet, subject: &Subject<'_>) -> Explanation {
    rules.explain(subject).unwrap()
}

fn results(explanation: &Explanation) -> Vec<(&str, GateResult)> {
    explanation.rules[0].gates.iter().map(|gate| (gate.name.as_str(), gate.result)).collect()
}

fn gate<'e>(explanation: &'e Explanation, name: &str) -> &'e Gate {
    explanation.rules[0].gates.iter().find(|gate| gate.name == name).unwrap()
}

const GATES: [&str; 17] = [
    "exclusions",
    "exemptions",
    "targets",
    "match.namespaceSelector",
    "match.objectSelector",
    "match.ownerKinds",
    "namespace",
    "opt.4",
    "opt.5",
    "opt.6",
    "opt.7",
    "opt.8",
    "object",
    "match.os",
    "match.hostNetwork",
    "job",
    "rollout",
];

/// Gates behind the failed gate are not reached.
#[test]
fn every_gate_is_explained_in_the_order_of_evaluation() {
    let text = rule("r", "optIn: either\npod: {labels: {x: y}}");
    let rules = rules(&text);
    let (object, facts) = (pod("{}"), facts(&[("vestibule.dev/inject", "false")]));
    let explanation = explain(&rules, &creation(&object).facts(&facts));
    let found = results(&explanation);
    assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>()[..17], GATES);
    let failed = found.iter().position(|(_, result)| *result == GateResult::Failed).unwrap();
    assert_eq!(found[failed].0, "opt.7");
    assert!(found[failed + 1..].iter().all(|(_, result)| *result == GateResult::NotReached));
    let passed =
        ["exclusions", "exemptions", "targets", "match.namespaceSelector", "match.objectSelector", "opt.4"];
    assert!(passed.iter().all(|name| gate(&explanation, name).result == GateResult::Passed));
    assert_eq!(gate(&explanation, "opt.7").line, Some(7));
    assert_eq!(
        gate(&explanation, "opt.7").sentence,
        "vestibule.dev/inject of the namespace declines the rule"
    );
    assert_eq!(gate(&explanation, "match.objectSelector").sentence, "the object meets `app=web`");
}

#[test]
fn the_row_that_decides_is_the_last_one_asked() {
    let rules = rules(&rule("r", "optIn: either\npod: {labels: {x: y}}"));
    let object = pod("{}").replace(r#""app":"web""#, r#""app":"web","inject.vestibule.dev/r":"true""#);
    let explanation = explain(&rules, &creation(&object).facts(&NamespaceFacts::default()));
    assert_eq!(gate(&explanation, "opt.4").result, GateResult::Passed);
    for row in ["opt.5", "opt.6", "opt.7", "opt.8"] {
        assert_eq!(gate(&explanation, row).result, GateResult::NotReached, "{row}");
    }
    assert_eq!(gate(&explanation, "rollout").result, GateResult::NotReached);
    assert_eq!(gate(&explanation, "match.os").result, GateResult::Passed);
}

#[test]
fn an_excluded_object_reaches_nothing() {
    let rules = rules(&rule("r", "pod: {labels: {x: y}}"));
    let object = pod("{}");
    let explanation = explain(&rules, &creation(&object).namespace("kube-system"));
    assert_eq!(gate(&explanation, "exclusions").sentence, "kube-system belongs to the cluster itself");
    let reached = results(&explanation).into_iter().filter(|(_, result)| *result != GateResult::NotReached);
    assert_eq!(reached.collect::<Vec<_>>(), [("exclusions", GateResult::Failed)]);
}

/// `explain` and `evaluate` make the same decision.
#[test]
fn every_part_of_a_rule_has_its_effect_and_changes() {
    let spec = "pod: {labels: {x: \"y\", tier: ours}}\nvolumes: [{name: v, emptyDir: {}}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: A, value: b}]";
    let rules = rules(&rule("r", spec));
    let object = pod(r#"{"containers":[{"name":"one"},{"name":"two","env":[{"name":"A","value":"b"}]}]}"#)
        .replace(r#""app":"web""#, r#""app":"web","tier":"theirs""#);
    let explanation = explain(&rules, &creation(&object));
    let clauses: Vec<_> = explanation.rules[0]
        .clauses
        .iter()
        .map(|clause| (clause.text.as_str(), clause.line, clause.effect, clause.changes.clone()))
        .collect();
    let decision = rules.evaluate(&creation(&object)).unwrap();
    let paths: Vec<_> =
        crate::kit::changes(&decision).map(|change| change.operation.path().as_str()).collect();
    assert_eq!(paths, ["/metadata/labels/x", "/spec/volumes", "/spec/containers/0/env"]);
    assert_eq!(
        clauses,
        [
            ("pod.labels[x]", 7, Effect::Added, vec![0]),
            ("pod.labels[tier]", 7, Effect::Kept, vec![]),
            ("volumes[0]", 8, Effect::Added, vec![1]),
            ("containerPatches[0].env[0]", 11, Effect::Added, vec![2]),
        ]
    );
    let same = |one: &vestibule_rules::Change, other: &vestibule_rules::Change| one.origin == other.origin;
    assert!(
        explanation.decision.changes().iter().zip(decision.changes()).all(|(one, other)| same(one, other))
    );
}

/// The object has the part, has something else in its place, or no container is selected.
#[test]
fn a_part_without_a_change_has_a_reason() {
    let spec = "parameters: [{name: some, type: bool, default: \"false\", annotation: a/b}]\npod: {labels: {tier: ours, zone: a, gone: {$cel: \"optional.none()\"}}, spec: {hostNetwork: false}}\nvolumes: [{name: v, emptyDir: {}}]\ncontainerPatches:\n- select: {names: [one]}\n  onConflict: keep\n  env: [{name: A, value: b}]\n  ports: [{containerPort: 80}]\n- select: {names: [nobody]}\n  env: [{name: A, value: b}]\n- select: {names: [one, two]}\n  env: [{name: C, value: c}]";
    let later = rule("s", "order: 1\npod: {labels: {tier: theirs}}\nonConflict: override");
    let earlier = rule("r", spec);
    let rules = rules(&format!("{earlier}{later}"));
    let object = pod(r#"{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"one","env":[{"name":"A","value":"x"},{"name":"C","value":"c"}],"ports":[{"containerPort":80,"protocol":"TCP"}]},{"name":"two","env":[{"name":"C","value":"d"}]}]}"#)
        .replace(r#""app":"web""#, r#""app":"web","tier":"theirs","zone":"a""#);
    let explanation = explain(&rules, &creation(&object));
    let effects = |index: usize| {
        let clauses = explanation.rules[index].clauses.iter();
        clauses.map(|clause| (clause.text.as_str(), clause.effect)).collect::<Vec<_>>()
    };
    assert_eq!(
        effects(0),
        [
            ("pod.labels[tier]", Effect::Kept),
            ("pod.labels[zone]", Effect::There),
            ("pod.labels[gone]", Effect::NotNeeded),
            ("pod.spec.hostNetwork", Effect::NotNeeded),
            ("volumes[0]", Effect::There),
            ("containerPatches[0].env[0]", Effect::Kept),
            ("containerPatches[0].ports[0]", Effect::There),
            ("containerPatches[1].env[0]", Effect::NotNeeded),
            ("containerPatches[2].env[0]", Effect::Kept),
        ]
    );
    assert_eq!(effects(1), [("pod.labels[tier]", Effect::There)]);
}

#[test]
fn a_conflict_is_explained_at_its_part() {
    let spec = "pod: {labels: {x: y}}\nvolumes: [{name: v, emptyDir: {}}]";
    let object = pod(r#"{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}"#);
    let explanation = explain(&rules(&rule("r", spec)), &creation(&object));
    let effects: Vec<_> = explanation.rules[0].clauses.iter().map(|clause| clause.effect).collect();
    assert_eq!(effects, [Effect::NotReached, Effect::Failed]);
    assert!(explanation.rules[0].clauses[1].sentence.contains("exists already"));

    // The parts stand on one line, and another rule would have acted.
    let denying = rule("r", "required: true\nvolumes: [{name: u, emptyDir: {}}, {name: v, emptyDir: {}}]");
    let acting = rule("s", "pod: {labels: {x: y}}");
    let both = rules(&(denying + &acting));
    let explanation = explain(&both, &creation(&object));
    let effects = explanation.rules.iter().flat_map(|rule| &rule.clauses).map(|clause| clause.effect);
    assert_eq!(effects.collect::<Vec<_>>(), [Effect::NotReached, Effect::Failed, Effect::NotReached]);
}

#[test]
fn removals_are_explained() {
    let spec = "remove:\n- env: {containers: all, name: A}\n- labels: {key: x}\n- volumes: {name: v}";
    let rules = rules(&rule("r", spec));
    let object =
        pod(r#"{"volumes":[{"name":"v"},{"name":"w"}],"containers":[{"name":"one","env":[{"name":"A"}]}]}"#);
    let explanation = explain(&rules, &creation(&object));
    let effects: Vec<_> = explanation.rules[0]
        .clauses
        .iter()
        .map(|clause| (clause.text.as_str(), clause.line, clause.effect, clause.changes.clone()))
        .collect();
    assert_eq!(
        effects,
        [
            ("remove[0]", 8, Effect::Removed, vec![0]),
            ("remove[1]", 9, Effect::NotNeeded, vec![]),
            ("remove[2]", 10, Effect::Removed, vec![1]),
        ]
    );
}
