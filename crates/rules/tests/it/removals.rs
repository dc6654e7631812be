//! `remove`: entries are removed by names and keys, never by index.

use serde_json::json;
use vestibule_rules::Resource;

use crate::kit::{codes, creation, decide, evaluate, pod, result, rule, rules, steps, word};

fn done(removal: &str, spec: &str) -> Vec<String> {
    let rules = rules(&rule("r", &format!("remove: [{removal}]")));
    result(&rules, &pod(spec));
    steps(&decide(&rules, &pod(spec)))
}

#[test]
fn every_duplicate_is_removed_and_an_empty_list_with_it() {
    let env = r#"{"containers":[{"name":"app","env":[{"name":"X"},{"name":"A"},{"name":"X","value":"1"}]},{"name":"two","env":[{"name":"X"}]},{"name":"three"}]}"#;
    assert_eq!(
        done("{env: {containers: all, name: X}}", env),
        [
            "remove /spec/containers/0/env/2",
            "remove /spec/containers/0/env/0",
            "remove /spec/containers/1/env"
        ]
    );
    assert_eq!(done("{env: {containers: [two, none], name: X}}", env), ["remove /spec/containers/1/env"]);
    assert!(done("{env: {containers: all, name: Y}}", env).is_empty());
}

#[test]
fn every_kind_of_entry_can_be_removed() {
    for (removal, spec, gone) in [
        (
            "{ports: {containers: all, containerPort: 80}}",
            r#"{"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"UDP"},{"containerPort":80}]}]}"#,
            "/spec/containers/0/ports/1",
        ),
        (
            "{volumeMounts: {containers: all, init: true, mountPath: /x/}}",
            r#"{"initContainers":[{"name":"a","volumeMounts":[{"name":"v","mountPath":"/x"}]}]}"#,
            "/spec/initContainers/0/volumeMounts",
        ),
        (
            "{envFrom: {containers: all, secret: s}}",
            r#"{"containers":[{"name":"a","envFrom":[{"secretRef":{"name":"s"},"prefix":"P"},{"configMapRef":{"name":"s"}}]}]}"#,
            "/spec/containers/0/envFrom/0",
        ),
        ("{volumes: {name: v}}", r#"{"volumes":[{"name":"v"},{"name":"w"}]}"#, "/spec/volumes/0"),
        ("{imagePullSecrets: {name: s}}", r#"{"imagePullSecrets":[{"name":"s"}]}"#, "/spec/imagePullSecrets"),
        (
            "{tolerations: {key: k}}",
            r#"{"tolerations":[{"key":"l"},{"key":"k","effect":"NoSchedule"}]}"#,
            "/spec/tolerations/1",
        ),
        ("{nodeSelector: {key: a}}", r#"{"nodeSelector":{"a":"b"}}"#, "/spec/nodeSelector/a"),
        ("{hostAliases: {ip: 1.1.1.1}}", r#"{"hostAliases":[{"ip":"1.1.1.1"}]}"#, "/spec/hostAliases"),
    ] {
        assert_eq!(done(removal, spec), [format!("remove {gone}")], "{removal}");
    }
    let labelled = r#"{"metadata":{"labels":{"app":"web","l":"m"},"annotations":{"a/b":"c"}},"spec":{}}"#;
    let both = rules(&rule("r", "remove: [{labels: {key: l}}, {annotations: {key: a/b}}]"));
    assert_eq!(result(&both, labelled)["metadata"]["labels"], json!({"app": "web"}));
    assert_eq!(steps(&decide(&both, labelled)).len(), 2);
}

#[test]
fn a_volume_in_use_is_kept_however_its_name_is_written() {
    let volume = rules(&rule("r", "remove: [{volumes: {name: v}}]"));
    for (name, expected) in [("v", "error"), (r"\u0076", "error"), ("vv", "applied")] {
        for uses in [
            r#""volumeMounts":[{"name":"@","mountPath":"/m"}]"#,
            r#""volumeDevices":[{"name":"@","devicePath":"/m"}]"#,
            r#""env":[{"name":"A","valueFrom":{"fileKeyRef":{"volumeName":"@","path":"e","key":"A"}}}]"#,
        ] {
            let app = format!(r#"{{"name":"app",{}}}"#, uses.replace('@', name));
            let volumes = r#"[{"name":"v","emptyDir":{}},{"name":"vv","emptyDir":{}}]"#;
            let object = pod(&format!(r#"{{"containers":[{app}],"volumes":{volumes}}}"#));
            assert_eq!(word(&decide(&volume, &object)), expected, "{uses} {name}");
        }
    }
    let mounted = pod(
        r#"{"containers":[{"name":"a","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v"}]}"#,
    );
    let both = "remove: [{volumes: {name: v}}, {volumeMounts: {containers: all, mountPath: /v}}]";
    let made = result(&rules(&rule("r", both)), &mounted);
    assert_eq!(made["spec"], json!({"containers": [{"name": "a"}]}));
}

#[test]
fn rules_do_not_undo_each_other() {
    let env = "containerPatches:\n- select: {names: [one]}\n  env: [{name: X, value: y}]";
    for (removal, adds, refused) in [
        ("{env: {containers: all, name: X}}", env, true),
        ("{env: {containers: [one], name: X}}", env, true),
        ("{env: {containers: [two], name: X}}", env, false),
        ("{env: {containers: all, name: Y}}", env, false),
        ("{volumes: {name: v}}", "volumes: [{name: v, emptyDir: {}}]", true),
        ("{labels: {key: l}}", "pod: {labels: {l: m}}", true),
        ("{tolerations: {key: k}}", "pod: {spec: {tolerations: [{key: k, operator: Exists}]}}", true),
        ("{tolerations: {key: k, effect: NoSchedule}}", "pod: {spec: {tolerations: [{key: k}]}}", false),
        ("{tolerations: {key: k, operator: Equal}}", "pod: {spec: {tolerations: [{key: k}]}}", true),
        (
            "{annotations: {key: kubectl.kubernetes.io/default-container}}",
            "sidecars: [{name: s, image: s, mode: regular}]",
            true,
        ),
    ] {
        let text = rule("a", &format!("remove: [{removal}]")) + &rule("b", adds);
        assert_eq!(codes(&text), if refused { vec!["VST0156"] } else { vec![] }, "{removal} {adds}");
    }
}

#[test]
fn labels_that_rules_read_are_not_removed() {
    assert_eq!(codes(&rule("r", "remove: [{labels: {key: app}}]"))[0], "VST0123");
    let rules = rules(&rule("r", "targets: [deployments]\nremove: [{labels: {key: l}}]"));
    let object = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"selector":{"matchLabels":{"l":"m"}},"template":{"metadata":{"labels":{"app":"web","l":"m"}},"spec":{}}}}"#;
    assert_eq!(word(&evaluate(&rules, &creation(object).resource(Resource::Deployments))), "error");
}

#[test]
fn removals_are_read_strictly() {
    for (removal, expected) in [
        ("{env: {containers: all}}", "VST0112"),
        ("{env: {name: X}}", "VST0112"),
        ("{env: {containers: every, name: X}}", "VST0113"),
        ("{envs: {containers: all, name: X}}", "VST0110"),
        ("{env: {containers: all, name: X}, volumes: {name: v}}", "VST0113"),
        ("{envFrom: {containers: all}}", "VST0113"),
        ("{ports: {containers: all, containerPort: http}}", "VST0111"),
    ] {
        assert_eq!(codes(&rule("r", &format!("remove: [{removal}]"))), [expected], "{removal}");
    }
}
