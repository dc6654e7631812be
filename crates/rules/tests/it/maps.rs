//! Maps and objects that expressions give.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{applied, codes, creation, decide, load, result, rule, rules, word, words};

const PARAMETERS: &str = "parameters:\n\
    - {name: labels, type: string, annotationPrefix: example.com/label-}\n\
    - {name: cpu, type: quantity, default: 10m, annotation: example.com/cpu}\n\
    - {name: number, type: int, default: \"1\"}\n";

fn with(spec: &str) -> String {
    rule("r", &format!("{PARAMETERS}{spec}"))
}

fn annotated(annotations: &[(&str, &str)]) -> String {
    let annotations: serde_json::Map<_, _> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({
        "metadata": {"name": "web", "labels": {"app": "web", "team": "theirs"}, "annotations": annotations},
        "spec": {
            "nodeSelector": {"disk": "ssd"},
            "containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}],
        },
    })
    .to_string()
}

/// As if the members were written in the rule.
#[test]
fn members_of_computed_maps_are_merged_one_by_one() {
    let rules = rules(&with(
        "pod:\n\
         \x20 labels: {$cel: params.labels}\n\
         \x20 annotations: {$cel: \"{'example.com/b': 'x', ?'example.com/c': optional.none()}\"}\n\
         \x20 spec:\n\
         \x20   nodeSelector: {$cel: \"{'disk': 'hdd', 'zone': owner.name}\"}\n\
         \x20   securityContext: {$cel: \"{'runAsNonRoot': true, 'supplementalGroups': [1, 2], 'seccompProfile': {'type': 'RuntimeDefault'}}\"}\n\
         containerPatches:\n\
         - select: {all: true}\n\
         \x20 resources: {$cel: \"{'requests': {'cpu': params.cpu, 'memory': '64Mi'}, 'limits': {'memory': '64Mi'}}\"}",
    ));
    let object = annotated(&[("example.com/label-team", "ours"), ("example.com/label-tier", "web")]);
    let made = result(&rules, &object);
    assert_eq!(made["metadata"]["labels"], json!({"app": "web", "team": "theirs", "tier": "web"}));
    assert_eq!(made["metadata"]["annotations"]["example.com/b"], "x");
    assert_eq!(made["metadata"]["annotations"]["example.com/c"], Value::Null);
    let spec = &made["spec"];
    assert_eq!(spec["nodeSelector"], json!({"disk": "ssd", "zone": "web"}));
    assert_eq!(
        spec["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}, "supplementalGroups": [1, 2]})
    );
    assert_eq!(
        spec["containers"][0]["resources"],
        json!({"requests": {"cpu": "1", "memory": "64Mi"}, "limits": {"memory": "64Mi"}})
    );
    assert!(rules.prove().is_ok());
}

/// A later rule that overrides a computed key wins, and a removal of what may be one is refused.
#[test]
fn rules_know_the_keys_of_computed_maps() {
    let over = |labels: &str| format!("onConflict: override\npod: {{labels: {labels}}}");
    let a = rule("a", &over("{$cel: \"{'team': 'a', 'tier': 'a'}\"}"));
    let both = rules(&(a.clone() + &rule("b", &over("{team: b}"))));
    let made = result(&both, &annotated(&[]));
    assert_eq!(made["metadata"]["labels"], json!({"app": "web", "team": "b", "tier": "a"}));
    assert_eq!(words(&decide(&both, &made.to_string())), ["unchanged", "unchanged"]);
    let removes = rule("c", "remove: [{labels: {key: tier}}]");
    assert_eq!(codes(&(a + &removes))[0], "VST0156");
}

/// The expression of a map that is added as a whole may read the object.
#[test]
fn objects_within_a_part_are_computed_as_a_whole() {
    let rules = rules(&with(
        "volumes:\n\
         - {name: tmp, emptyDir: {$cel: \"{'medium': 'Memory', 'sizeLimit': '1Mi'}\"}}\n\
         - {name: files, projected: {$cel: \"{'sources': [{'secret': {'name': 'a', 'items': [{'key': 'k', 'path': 'p'}]}}]}\"}}\n\
         sidecars:\n\
         - name: s\n\
         \x20 image: i:1\n\
         \x20 resources: {$cel: \"{'requests': object.spec.containers[0].resources.requests}\"}\n\
         \x20 securityContext: {$cel: \"params.number > 5 ? optional.of({'runAsUser': params.number}) : optional.none()\"}\n\
         \x20 env: [{name: N, valueFrom: {$cel: \"{'fieldRef': {'fieldPath': 'spec.nodeName'}}\"}}]\n\
         containerPatches:\n\
         - select: {all: true}\n\
         \x20 readinessProbe: {$cel: \"{'httpGet': {'path': '/' + object.metadata.name, 'port': params.number}}\"}",
    ));
    let made = result(&rules, &annotated(&[]));
    let spec = &made["spec"];
    assert_eq!(spec["volumes"][0]["emptyDir"], json!({"medium": "Memory", "sizeLimit": "1Mi"}));
    assert_eq!(spec["volumes"][1]["projected"]["sources"][0]["secret"]["items"][0]["path"], "p");
    let sidecar = &spec["initContainers"][0];
    assert_eq!(sidecar["resources"], json!({"requests": {"cpu": "1"}}));
    assert_eq!(sidecar["securityContext"], Value::Null);
    assert_eq!(sidecar["env"][0]["valueFrom"], json!({"fieldRef": {"fieldPath": "spec.nodeName"}}));
    assert_eq!(spec["containers"][0]["readinessProbe"], json!({"httpGet": {"path": "/web", "port": 1}}));
}

#[test]
fn maps_that_their_place_cannot_hold_are_refused_at_load() {
    let sidecar = |fields: &str| format!("sidecars: [{{name: s, image: i, {fields}}}]");
    for (spec, code, wanted) in [
        (
            "pod: {labels: {$cel: \"{'a': 1}\"}}".to_owned(),
            "VST0140",
            "`labels` wants text, and this is a whole",
        ),
        ("pod: {labels: {$cel: params.cpu}}".to_owned(), "VST0140", "`labels` wants a map, and this is text"),
        (
            "pod: {labels: {$cel: \"[{'a': 'b'}]\"}}".to_owned(),
            "VST0140",
            "`labels` wants a map, and this is a list",
        ),
        (
            "pod: {labels: {a: {$cel: \"['a']\"}}}".to_owned(),
            "VST0140",
            "the values of `labels` are single values, and this is a list",
        ),
        (
            "pod: {labels: {$cel: \"{'a': ['x']}\"}}".to_owned(),
            "VST0140",
            "the values of `labels` are single values, and this is a list",
        ),
        ("pod: {annotations: {$cel: object.metadata.labels}}".to_owned(), "VST0135", "merged one by one"),
        (
            "containerPatches: [{select: {all: true}, resources: {$cel: \"{'limits': object.spec}\"}}]"
                .to_owned(),
            "VST0135",
            "merged one by one",
        ),
        (
            sidecar("resources: {$cel: \"{'limit': {'cpu': '1'}}\"}"),
            "VST0110",
            "`resources` has no field `limit`",
        ),
        (
            sidecar("resources: {$cel: \"{'limits': {'cpu': true}}\"}"),
            "VST0140",
            "`cpu` wants a quantity, and this is a truth value",
        ),
        (
            sidecar("securityContext: {$cel: \"{'runAsUser': '0'}\"}"),
            "VST0140",
            "`runAsUser` wants a whole number",
        ),
        (sidecar("securityContext: {$cel: \"{'runAsUser': null}\"}"), "VST0140", "null"),
        (sidecar("securityContext: {$cel: 'null'}"), "VST0140", "wants a map, and this is null"),
        (sidecar("env: {$cel: \"[{'name': 'A'}]\"}"), "VST0135", "has a structure of its own"),
        (sidecar("image: {$cel: \"{'a': 'b'}\"}").replace("image: i, ", ""), "VST0140", "and this is a map"),
        (
            sidecar("securityContext: {$cel: \"{'runAsNonRoot': true}\"}")
                .replace("sidecars", "match: {os: linux}\nsecurityProfile: restricted\nsidecars"),
            "VST0155",
            "gives a whole map",
        ),
        (
            "pod: {spec: {replace: [dnsConfig], dnsConfig: {$cel: \"{'searches': ['a']}\"}}}".to_owned(),
            "VST0135",
            "`replace` is for written values",
        ),
    ] {
        let text =
            with(&spec).replace("  match: {objectSelector: {matchLabels: {app: web}}}\n", "  optIn: pod\n");
        let findings = load(&text).err().unwrap_or_else(|| panic!("{spec}"));
        let [one] = findings.as_slice() else { panic!("{spec}: {findings:?}") };
        assert_eq!(one.code().id, code, "{spec}: {one}");
        assert!(one.headline().contains(wanted), "{spec}: {one}");
    }
}

#[test]
fn values_that_no_pod_can_have_are_errors_of_the_rule() {
    let of_object = |map: &str| format!("sidecars: [{{name: s, image: i, resources: {{$cel: \"{map}\"}}}}]");
    let read = "optional.ofNonZeroValue(object.metadata.annotations).value()";
    for (spec, annotations, wanted) in [
        ("pod: {labels: {$cel: params.labels}}".to_owned(), vec![("example.com/label-a", "not a label!")], "wants"),
        (
            "pod: {labels: {$cel: params.labels}}".to_owned(),
            vec![("example.com/label-inject.vestibule.dev", "x"), ("example.com/label-app", "x")],
            "label `app` is read by rule `r`",
        ),
        (
            "pod: {annotations: {$cel: \"{'vestibule.dev/injected': 'x'}\"}}".to_owned(),
            vec![],
            "the injector itself writes",
        ),
        (
            "pod: {annotations: {$cel: \"{'example.com/label-new': 'x'}\"}}".to_owned(),
            vec![],
            "annotation `example.com/label-new` is read by rule `r`",
        ),
        ("pod: {labels: {$cel: \"{'a b': 'x'}\"}}".to_owned(), vec![], "a key of `labels` wants"),
        (
            "pod: {annotations: {a: {$cel: \"dyn(['a'])\"}}}".to_owned(),
            vec![],
            "the values of `annotations` are single values, and this is a list",
        ),
        (of_object("{'limits': {'a b': '1'}}"), vec![], "a key of `limits` wants"),
        (
            "pod: {labels: {$cel: \"{dyn(params.number): 'a', '1': 'b'}\"}}".to_owned(),
            vec![],
            "the keys of a map are text",
        ),
        (of_object(read), vec![("example.com/x", "y")], "`resources` has a field that pods do not have"),
        (of_object(&format!("{{'limits': {read}['x']}}")), vec![("x", "y")], "wants a map, and this is text"),
        (
            "containerPatches: [{select: {all: true}, resources: {$cel: \"{'claims': [{'name': 'a'}, {'name': 'a'}]}\"}}]"
                .to_owned(),
            vec![],
            "two items of `claims` have the same key",
        ),
        (
            "pod: {spec: {dnsConfig: {$cel: \"{'searches': ['a']}\"}}}".to_owned(),
            vec![],
            "`dnsConfig` has a list that is replaced as one value",
        ),
        (
            "sidecars: [{name: s, image: i, readinessProbe: {$cel: \"{'exec': {'command': ['a']}, 'grpc': {'port': 1}}\"}}]"
                .to_owned(),
            vec![],
            "exclude each other",
        ),
    ] {
        let Ok(rules) = load(&with(&spec)) else { panic!("{spec}: {:?}", load(&with(&spec)).err()) };
        let decision = decide(&rules, &annotated(&annotations));
        assert_eq!((word(&decision), decision.changes().len()), ("error", 0), "{spec}");
        assert!(decision.warnings[0].contains(wanted), "{spec}: {:?}", decision.warnings);
    }
}

/// An empty list is left out anywhere, so it is not refused where a list would be.
#[test]
fn an_empty_list_leaves_a_label_out() {
    let spec = "pod: {labels: {a: {$cel: \"object.metadata.?finalizers.orValue([])\"}, b: c}}";
    let decision = decide(&load(&with(spec)).unwrap(), &annotated(&[]));
    assert_eq!(word(&decision), "applied");
    let added: Vec<_> = decision.changes().iter().map(|change| change.operation.path().as_str()).collect();
    assert!(added.iter().all(|path| !path.ends_with("/a")), "{added:?}");
}

/// Regression test: a key of a computed map may be a value of the object, and messages named it.
#[test]
fn messages_do_not_show_computed_keys() {
    let key = "object.metadata.annotations['x']";
    let of_sidecar =
        |field: &str, map: &str| format!("sidecars: [{{name: s, image: i, {field}: {{$cel: \"{map}\"}}}}]");
    for (spec, wanted) in [
        (
            of_sidecar("resources", &format!("{{{key}: 'v'}}")),
            "`resources` has a field that pods do not have",
        ),
        (
            of_sidecar("securityContext", &format!("{{'capabilities': {{{key}: 'v'}}}}")),
            "`capabilities` has a field that pods do not have",
        ),
        (of_sidecar("resources", &format!("{{{key}: dyn(null)}}")), "a member of a map is null"),
        (
            format!(
                "volumes: [{{name: v, csi: {{$cel: \"{{'driver': 'd', 'volumeAttributes': {{{key}: 1}}}}\"}}}}]"
            ),
            "`volumeAttributes` wants text",
        ),
        (
            format!(
                "volumes: [{{name: v, flexVolume: {{$cel: \"{{'driver': 'd', 'options': {{{key}: 1}}}}\"}}}}]"
            ),
            "`options` wants text",
        ),
    ] {
        let Ok(rules) = load(&with(&spec)) else { panic!("{spec}: {:?}", load(&with(&spec)).err()) };
        let decision = decide(&rules, &annotated(&[("x", "s3cret")]));
        assert_eq!((word(&decision), decision.changes().len()), ("error", 0), "{spec}");
        let warning = &decision.warnings[0];
        assert!(warning.contains(wanted) && !warning.contains("s3cret"), "{spec}: {warning}");
    }
}

/// Variables can nest maps without end, and types of such maps stay small.
#[test]
fn types_of_nested_maps_are_bounded() {
    let one = |number: usize| {
        let below =
            number.checked_sub(1).map_or_else(|| "'x'".to_owned(), |below| format!("variables.v{below}"));
        let members: Vec<String> = (0..20).map(|member| format!("'m{member}': {below}")).collect();
        format!("{{name: v{number}, expression: \"{{{}}}\"}}", members.join(", "))
    };
    let variables: Vec<String> = (0..100).map(one).collect();
    let spec = format!(
        "variables: [{}]\npod: {{labels: {{a: {{$cel: string(size(variables.v99))}}}}}}",
        variables.join(", ")
    );
    assert!(load(&rule("r", &spec)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// [`applied`] checks that a second evaluation changes nothing.
    #[test]
    fn computed_maps_settle(
        labels in proptest::collection::btree_map("[b-z][a-z0-9]{0,5}", "[a-z0-9]{0,5}", 0..6),
        policy in prop_oneof![Just("keep"), Just("override")],
    ) {
        let keys: Vec<String> = labels.keys().map(|name| format!("example.com/label-{name}")).collect();
        let annotations: Vec<(&str, &str)> =
            keys.iter().map(String::as_str).zip(labels.values().map(String::as_str)).collect();
        let object = annotated(&annotations);
        let rules = rules(&with(&format!("onConflict: {policy}\npod: {{labels: {{$cel: params.labels}}, spec: {{nodeSelector: {{$cel: params.labels}}}}}}")));
        let made: Value = serde_json::from_str(&applied(&rules, &creation(&object))).unwrap();
        for (key, value) in &labels {
            let kept = policy == "keep" && key == "team";
            prop_assert_eq!(&made["metadata"]["labels"][key], if kept { "theirs" } else { value.as_str() });
            prop_assert_eq!(&made["spec"]["nodeSelector"][key], value.as_str());
        }
    }
}
