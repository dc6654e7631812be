//! Keys that expressions compute.

use serde_json::json;
use vestibule_rules::Resource;

use crate::kit::{applied, codes, creation, decide, load, names, pod, result, rule, rules, word, words};

const PARAMETERS: &str = "parameters:\n\
    - {name: port, type: int, default: \"15001\", annotation: example.com/app-port}\n\
    - {name: name, type: string, default: ours, annotation: example.com/name}\n\
    - {name: path, type: string, default: /ours, annotation: example.com/path}\n\
    variables: [{name: next, expression: 'params.port + 1'}]\n";

fn with(spec: &str) -> String {
    rule("r", &format!("{PARAMETERS}{spec}"))
}

fn annotated(annotations: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"web","labels":{{"app":"web"}},"annotations":{{{annotations}}}}},"spec":{{"containers":[{{"name":"app","env":[{{"name":"A","value":"theirs"}}],"ports":[{{"containerPort":80}}]}}]}}}}"#
    )
}

/// As in the API server, the prefix of an annotation's key may have capital letters, and that of a label's may not.
#[test]
fn keys_of_annotations_may_have_capital_letters() {
    let rules = rules(&rule(
        "r",
        "parameters:\n\
         - {name: one, type: string, default: a, annotation: Example.com/One}\n\
         - {name: more, type: string, annotationPrefix: Example.com/More-}\n\
         compatAnnotations: {Example.com/inject: ['yes']}\n\
         pod: {annotations: {Example.com/Made: {$cel: \"params.one + params.more['x']\"}}}",
    ));
    let made = result(&rules, &annotated(r#""Example.com/One":"b","Example.com/More-x":"c""#));
    assert_eq!(made["metadata"]["annotations"]["Example.com/Made"], "bc");
    let computed = rules_of_map("annotations");
    assert_eq!(result(&computed, &annotated(""))["metadata"]["annotations"]["Example.com/a"], "b");
    assert_eq!(word(&decide(&rules_of_map("labels"), &annotated(""))), "error");
    assert_eq!(codes(&rule("r", "pod: {labels: {Example.com/a: b}}")), ["VST0113"]);
}

fn rules_of_map(map: &str) -> vestibule_rules::RuleSet {
    rules(&rule(
        "r",
        &format!("pod: {{{map}: {{$cel: \"{{'Example.com/' + owner.name.substring(0, 0) + 'a': 'b'}}\"}}}}"),
    ))
}

/// Dapr's `app-port` and Istio's ports could not be parameters.
#[test]
fn a_sidecar_listens_where_a_parameter_says() {
    let rules = rules(&with(
        "sidecars: [{name: s, image: 'i:1', ports: [{containerPort: {$cel: params.port}}, {containerPort: {$cel: variables.next}, protocol: UDP}]}]",
    ));
    for (annotations, port) in [("", 15001), (r#""example.com/app-port":"3500""#, 3500)] {
        let made = result(&rules, &annotated(annotations));
        let wanted = json!([{"containerPort": port}, {"containerPort": port + 1, "protocol": "UDP"}]);
        assert_eq!(made["spec"]["initContainers"][0]["ports"], wanted);
    }
}

#[test]
fn every_kind_of_key_can_be_computed() {
    let rules = rules(&with(
        "volumes: [{name: {$cel: params.name}, emptyDir: {}}]\n\
         sidecars: [{name: {$cel: \"params.name + '-s'\"}, image: 'i:1', mode: regular}]\n\
         imagePullSecrets: [{name: {$cel: params.name}}]\n\
         pod: {spec: {hostAliases: [{ip: {$cel: \"'10.0.0.1'\"}, hostnames: [h]}]}}\n\
         containerPatches:\n\
         - select: {all: true}\n\
         \x20 env: [{name: {$cel: params.name.upperAscii()}, value: x}]\n\
         \x20 ports: [{containerPort: {$cel: params.port}}]\n\
         \x20 volumeMounts: [{name: {$cel: params.name}, mountPath: {$cel: params.path}}]",
    ));
    let made = result(&rules, &annotated(r#""example.com/name":"mine","example.com/path":"/mine/""#));
    let spec = &made["spec"];
    assert_eq!(names(&spec["volumes"]), ["mine"]);
    assert_eq!(names(&spec["containers"]), ["app", "mine-s"]);
    assert_eq!(names(&spec["imagePullSecrets"]), ["mine"]);
    assert_eq!(spec["hostAliases"][0]["ip"], "10.0.0.1");
    assert_eq!(names(&spec["containers"][0]["env"]), ["MINE", "A"]);
    assert_eq!(spec["containers"][0]["ports"], json!([{"containerPort": 80}, {"containerPort": 15001}]));
    assert_eq!(spec["containers"][0]["volumeMounts"], json!([{"name": "mine", "mountPath": "/mine/"}]));
}

/// A computed key finds the same items as a literal key.
#[test]
fn computed_keys_find_existing_items() {
    let env = |more: &str| {
        rules(&with(&format!(
            "{more}\ncontainerPatches: [{{select: {{all: true}}, env: [{{name: {{$cel: params.name}}, value: x}}]}}]"
        )))
    };
    let theirs = annotated(r#""example.com/name":"A""#);
    assert_eq!(word(&decide(&env(""), &theirs)), "unchanged");
    assert_eq!(word(&decide(&env("onConflict: skipRule"), &theirs)), "conflict");
    let made = result(&env("onConflict: override"), &theirs);
    assert_eq!(made["spec"]["containers"][0]["env"], json!([{"name": "A", "value": "x"}]));
    let listens = rules(&with(
        "containerPatches: [{select: {all: true}, ports: [{containerPort: {$cel: params.port}, name: web}]}]",
    ));
    assert_eq!(word(&decide(&listens, &annotated(r#""example.com/app-port":"80""#))), "unchanged");
    // The later of two rules that override one key wins, also if the key is computed.
    let over = |value: &str, name: &str| {
        format!(
            "onConflict: override\ncontainerPatches: [{{select: {{all: true}}, env: [{{name: {name}, value: {value}}}]}}]"
        )
    };
    let both = rules(
        &(rule("a", &over("one", "OURS"))
            + &rule("b", &format!("{PARAMETERS}{}", over("two", "{$cel: params.name}")))),
    );
    let web = annotated(r#""example.com/name":"OURS""#);
    let made = result(&both, &web);
    assert_eq!(made["spec"]["containers"][0]["env"][0], json!({"name": "OURS", "value": "two"}));
}

#[test]
fn keys_that_rules_may_change_are_refused_with_the_reason() {
    for (place, column) in [
        (
            "sidecars: [{name: s, image: 'i:1', ports: [{containerPort: {$cel: size(object.spec.containers)}}]}]",
            69,
        ),
        ("volumes: [{name: {$cel: object.metadata.name}, emptyDir: {}}]", 27),
        (
            "containerPatches: [{select: {all: true}, env: [{name: {$cel: request.object.metadata.name}, value: x}]}]",
            64,
        ),
        (
            "variables: [{name: v, expression: object.metadata.name}]\nvolumes: [{name: {$cel: variables.v}, emptyDir: {}}]",
            27,
        ),
    ] {
        let findings = load(&rule("r", place)).err().unwrap();
        let [one] = findings.as_slice() else { panic!("{place}: {findings:?}") };
        assert_eq!((one.code().id, one.position().column), ("VST0135", column), "{place}");
        assert!(one.headline().contains("which rules change") && one.help().is_some(), "{one}");
    }
}

#[test]
fn invalid_computed_keys_are_an_error_of_the_rule() {
    for (spec, annotations, wanted) in [
        (
            "sidecars: [{name: s, image: 'i:1', ports: [{containerPort: {$cel: params.port}}]}]",
            r#""example.com/app-port":"70000""#,
            "from 1 to 65535",
        ),
        (
            "containerPatches: [{select: {all: true}, ports: [{containerPort: {$cel: params.port}}]}]",
            r#""example.com/app-port":"0""#,
            "from 1 to 65535",
        ),
        (
            "sidecars: [{name: {$cel: params.name}, image: 'i:1'}]",
            r#""example.com/name":"No Name""#,
            "wants 1 to 63 lower-case",
        ),
        (
            "containerPatches: [{select: {all: true}, env: [{name: {$cel: params.name}, value: x}]}]",
            r#""example.com/name":"a=b""#,
            "without `=`",
        ),
        (
            "containerPatches: [{select: {all: true}, env: [{name: {$cel: params.name}, value: x}, {name: X, value: y}]}]",
            r#""example.com/name":"X""#,
            "two items of `env` have the same key",
        ),
        (
            "sidecars: [{name: s, image: 'i:1', ports: [{containerPort: {$cel: params.port}}, {containerPort: 80}]}]",
            r#""example.com/app-port":"80""#,
            "two items of `ports` have the same key",
        ),
        (
            "sidecars: [{name: {$cel: params.name}, image: 'i:1'}]\ninitContainers: [{name: x, image: 'i:1'}]",
            r#""example.com/name":"x""#,
            "two items of `containers` have the same key",
        ),
        (
            "sidecars: [{name: s, image: 'i:1', ports: [{containerPort: {$cel: \"params.name == '' ? optional.of(80) : optional.none()\"}}]}]",
            "",
            "needs a single value",
        ),
    ] {
        let rules = rules(&with(spec));
        let decision = decide(&rules, &annotated(annotations));
        assert_eq!((word(&decision), decision.changes().len()), ("error", 0), "{spec}");
        assert!(decision.warnings[0].contains(wanted), "{:?}", decision.warnings);
    }
}

/// A key without a value is not an error if the condition of the rule is false.
#[test]
fn conditions_come_before_keys() {
    let spec = "parameters: [{name: n, type: string, annotation: example.com/n, default: ''}]\n\
                matchConditions: [{name: c0, expression: \"params.n != ''\"}]\n\
                volumes: [{name: {$cel: \"['', params.n][params.n == '' ? 7 : 1]\"}, emptyDir: {}}]";
    let rules = rules(&rule("r", spec));
    assert_eq!(word(&decide(&rules, &pod(r#"{"containers":[]}"#))), "match_condition_false");
    let made = result(&rules, &annotated(r#""example.com/n":"v""#));
    assert_eq!(names(&made["spec"]["volumes"]), ["v"]);
}

#[test]
fn the_owner_may_name_a_volume_of_a_template() {
    let spec = "targets: [deployments]\nvolumes: [{name: {$cel: owner.name}, emptyDir: {}}]";
    let object = r#"{"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[]}}}}"#;
    let made = applied(&rules(&rule("r", spec)), &creation(object).resource(Resource::Deployments));
    assert!(made.contains(r#""volumes":[{"name":"web","emptyDir":{}}]"#), "{made}");
}

/// A rule must not remove an item that another rule may add under a computed key.
#[test]
fn rules_must_not_remove_what_a_computed_key_may_name() {
    let removes = "remove: [{env: {containers: all, name: B}}]\n";
    let spec = format!(
        "{removes}{PARAMETERS}containerPatches: [{{select: {{all: true}}, env: [{{name: {{$cel: params.name}}, value: x}}]}}]"
    );
    assert_eq!(codes(&rule("r", &spec))[0], "VST0156");
    assert_eq!(words(&decide(&rules(&rule("r", removes)), &pod(r#"{"containers":[]}"#))), ["unchanged"]);
}
