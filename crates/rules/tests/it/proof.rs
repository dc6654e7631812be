//! The proof that rules settle on the sample pods.

use std::cell::Cell;
use std::time::Duration;

use cpu_time::ThreadTime;
use vestibule_rules::Proofs;

use crate::kit::{rule, rules};

#[test]
fn the_rules_of_the_other_tests_settle() {
    let texts = [
        rule("sidecar", "sidecars: [{name: proxy, image: 'proxy:1', ports: [{containerPort: 15001}]}]"),
        rule(
            "env",
            "onConflict: override\ncontainerPatches: [{select: {all: true}, env: [{name: PORT, value: '1'}, {name: X, value: $(PORT)}]}]",
        ),
        rule(
            "volume",
            "volumes: [{name: certs, emptyDir: {}}]\ncontainerPatches: [{select: {all: true, init: true}, volumeMounts: [{name: certs, mountPath: /data}]}]",
        ),
        rule("required", "required: true\npod: {labels: {team: blue}}\ntargets: [pods, deployments]"),
        rule("place", "sidecars: [{name: last, image: 'l:1', mode: regular, position: {containers: first}}]"),
    ];
    assert!(rules(&texts.concat()).prove().is_ok());
}

#[test]
fn many_rules_are_proved_in_bounded_time() {
    let one = |index: usize| {
        let spec = format!(
            "sidecars: [{{name: s{index}, image: 's:1'}}]\nvolumes: [{{name: v{index}, emptyDir: {{}}}}]\ncontainerPatches: [{{select: {{all: true}}, env: [{{name: E{index}, value: x}}]}}]"
        );
        rule(&format!("r{index}"), &spec)
    };
    let text: String = (0..150).map(one).collect();
    let rules = rules(&text);
    let work = ThreadTime::now();
    assert!(rules.prove().is_ok());
    // It takes about a second; quadratic work would take minutes.
    assert!(work.elapsed() < Duration::from_secs(60), "{:?}", work.elapsed());
}

#[test]
fn proved_rules_are_not_proved_again() {
    let (known, proved) = (Proofs::default(), Cell::new(0));
    let prove_further = |text: &str, known: &Proofs| {
        proved.set(0);
        let result = rules(text).prove_further(known, || proved.replace(proved.get() + 1) < 100);
        (result.is_ok(), proved.get())
    };
    let prove = |text: &str| prove_further(text, &known);
    let (a, b) = (rule("a", "pod: {labels: {a: x}}"), rule("b", "pod: {labels: {b: x}}"));
    // The steps of the proof of one rule.
    let alone = prove_further(&a, &Proofs::default()).1;
    // One proof for each rule, and one for both together.
    assert_eq!(prove(&format!("{a}{b}")), (true, alone + alone + 1));
    assert_eq!(prove(&format!("{b}{a}")), (true, 0));
    let other = rule("a", "pod: {labels: {a: y}}");
    assert_eq!(prove(&format!("{other}{b}")), (true, alone + 1));
    let settings = crate::kit::settings("{nativeSidecars: false}");
    assert_eq!(prove(&format!("{a}{b}{settings}")), (true, 0));
    // The settings change the list of this sidecar.
    let sidecar = rule("a", "sidecars: [{name: s, image: i}]");
    for (text, steps) in
        [(sidecar.clone(), alone), (format!("{sidecar}{settings}"), alone), (sidecar.clone(), 0)]
    {
        assert_eq!(prove(&text), (true, steps));
    }
    // A rule that does not settle is reported every time.
    let grows = rule(
        "c",
        "onConflict: override\npod:\n  annotations:\n    seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}",
    );
    for _ in 0..2 {
        let (is_proved, steps) = prove(&format!("{a}{b}{grows}"));
        assert!(!is_proved && (1..alone).contains(&steps));
    }
    let stopped = rules(&grows).prove_further(&known, || false);
    assert!(stopped.is_ok(), "nothing was proved");
    // A rule of which only some samples were seen is not proved.
    let (slow, left) = (rule("slow", "pod: {labels: {slow: x}}"), Cell::new(3_u32));
    let goes_on = || left.replace(left.get().saturating_sub(1)) > 0;
    assert!(rules(&slow).prove_further(&known, goes_on).is_ok());
    assert_eq!(prove(&slow), (true, alone));
}

#[test]
fn an_annotation_that_grows_with_every_evaluation_is_found() {
    let spec = "onConflict: override\npod:\n  annotations:\n    seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}";
    let text = rule("fine", "pod: {labels: {a: b}}") + &rule("r", spec);
    let found = rules(&text).prove().err().unwrap();
    assert_eq!(found.len(), 1);
    let said = found[0].headline();
    assert!(said.starts_with("rules.yaml:11:") && said.contains("VST0175"), "{said}");
    assert!(said.contains("`r` never comes to rest on a bare pod"), "{said}");
}

/// An annotation that grows with every evaluation is found behind every kind of condition.
#[test]
fn the_sample_request_meets_the_conditions_of_a_rule() {
    const GROWS: &str =
        "pod:\n  annotations:\n    seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}";
    let parameter = |what: &str| format!("parameters: [{{name: p, annotation: example.com/p, {what}}}]");
    let when = |condition: &str| format!("matchConditions: [{{name: c0, expression: \"{condition}\"}}]");
    let found = |asks: &str, part: &str| {
        let text = rule("r", &format!("onConflict: override\n{asks}\n{part}"));
        rules(&text).prove().err().map(|found| found[0].headline())
    };
    for asks in [
        parameter("type: string"),
        parameter("type: string, min: 40"),
        parameter("type: string, from: namespace"),
        parameter("type: string, pattern: '[a-z]{3}-[0-9]{4}'"),
        parameter("type: int, min: 1000, max: 2000"),
        parameter("type: quantity, min: 2Gi"),
        parameter("type: duration, max: 500ms"),
        parameter("type: bool"),
        parameter("type: enum, values: [low, high]"),
        when("object.metadata.annotations['team'] == 'blue'"),
        when("'red' == object.metadata.?annotations[?'example.com/team'].orValue('')"),
        when("has(object.metadata.annotations.team) && 'x' in object.metadata.labels"),
        when("request.object.metadata.?annotations.?team.hasValue()"),
        when("namespaceObject.metadata.annotations['team'].startsWith('blue')"),
        when("namespaceObject.metadata.?labels[?'tier'].orValue('') in ['one', 'two']"),
        when("request.namespace == 'production'"),
        when("namespaceObject.metadata.name == 'production'"),
        when("request.userInfo.username == 'system:admin' && 'admins' in request.userInfo.groups"),
        when("owner.kind == 'StatefulSet'"),
        format!(
            "variables: [{{name: team, expression: \"object.metadata.annotations['team']\"}}]\n{}",
            when("variables.team == 'x'")
        ),
        when("object.spec.serviceAccountName == 'builder'"),
        when(
            "object.spec.?nodeSelector[?'pool'].orValue('') == 'gpu' && object.spec.schedulerName == 'ours'",
        ),
        when("object.spec.containers.exists(c, c.name == 'main' && c.image.startsWith('ours/'))"),
        when("object.spec.containers[0].image == 'ours/app:1'"),
        when("request.object.spec.?tolerations.orValue([]).exists(t, t.key == 'gpu')"),
        when(
            "object.spec.containers.exists(c, c.?env.orValue([]).exists(e, e.name == 'MODE' && e.value == 'x'))",
        ),
        // No sample request meets these conditions; the rule is proved without them.
        when("request.userInfo.username.matches('^team-[0-9]{3}$')"),
        when("request.dryRun"),
        "rollout: {percent: 1}".to_owned(),
        "optIn: pod\ncompatAnnotations: {example.com/inject: ['yes']}".to_owned(),
    ] {
        let said = found(&asks, GROWS).unwrap_or_else(|| panic!("not found: {asks}"));
        assert!(said.contains("VST0175") && said.contains("`r` never comes to rest"), "{said}");
        assert_eq!(found(&asks, "pod: {annotations: {seen: x}}"), None, "{asks}");
    }
    // A condition that reads the object stays: it is the reason why the rule settles.
    assert_eq!(found(&when("!object.metadata.?annotations[?'seen'].hasValue()"), GROWS), None);
    assert_eq!(found(&when("has(object.spec.never) && !has(object.metadata.annotations)"), GROWS), None);
}

/// By the schema of pods, the rule changes the same variable in each evaluation, because `env` has one item for each name. Without
/// the schema, it would add an item in each evaluation.
#[test]
fn proofs_use_the_schema_of_pods() {
    let counts = "onConflict: override\ncontainerPatches: [{select: {all: true}, env: \
                  [{name: N, value: {$cel: \"string(size(object.spec.containers[0].?env.orValue([])))\"}}]}]";
    assert!(rules(&rule("r", counts)).prove().is_ok());
}
