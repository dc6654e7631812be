//! Cases of the merge beside those of `injection_cases`.

use serde_json::json;
use vestibule_rules::Resource;

use crate::kit::{applied, creation, decide, evaluate, names, pod, result, rule, rules, steps, word, words};

const ENV: &str =
    "containerPatches:\n- select: {all: true}\n  onConflict: POLICY\n  env: [{name: TARGET, value: ours}]";

fn env(policy: &str) -> vestibule_rules::RuleSet {
    rules(&rule("env", &ENV.replace("POLICY", policy)))
}

#[test]
fn override_changes_the_kind_of_a_value() {
    let pod = pod(
        r#"{"containers":[{"name":"app","env":[{"name":"TARGET","valueFrom":{"fieldRef":{"fieldPath":"x"}}}]}]}"#,
    );
    let result = result(&env("override"), &pod);
    assert_eq!(result["spec"]["containers"][0]["env"], json!([{"name": "TARGET", "value": "ours"}]));
}

#[test]
fn the_last_of_two_variables_with_one_name_counts() {
    let pod = pod(
        r#"{"containers":[{"name":"app","env":[{"name":"TARGET","value":"ours"},{"name":"TARGET","value":"x"}]}]}"#,
    );
    assert_eq!(steps(&decide(&env("override"), &pod)), [r#"replace /spec/containers/0/env/1/value "ours""#]);
    let equal = pod.replace("\"x\"", "\"ours\"");
    assert_eq!(word(&decide(&env("deny"), &equal)), "unchanged");
}

#[test]
fn variables_go_before_the_users_except_those_that_refer_to_them() {
    let spec = "containerPatches:\n- select: {all: true}\n  env:\n  - {name: P, value: plain}\n  - {name: R, value: \"$(U1)-$(S)\"}\n  - {name: S, value: \"$(U2)\"}\n  - {name: T, value: \"$$(U3)\"}";
    let pod = pod(
        r#"{"containers":[{"name":"app","env":[{"name":"U1","value":"1"},{"name":"U2","value":"$(P)"},{"name":"U3","value":"3"}]}]}"#,
    );
    let result = result(&rules(&rule("env", spec)), &pod);
    assert_eq!(names(&result["spec"]["containers"][0]["env"]), ["P", "T", "U1", "U2", "R", "S", "U3"]);
}

#[test]
fn sources_of_variables_go_first() {
    let spec = "containerPatches:\n- select: {all: true}\n  envFrom:\n  - {configMapRef: {name: ours}}\n  - {configMapRef: {name: theirs}}\n  - {secretRef: {name: ours}}";
    let pod = pod(r#"{"containers":[{"name":"app","envFrom":[{"configMapRef":{"name":"theirs"}}]}]}"#);
    let sources = &result(&rules(&rule("env", spec)), &pod)["spec"]["containers"][0]["envFrom"];
    assert_eq!(
        *sources,
        json!([{"configMapRef": {"name": "ours"}}, {"secretRef": {"name": "ours"}}, {"configMapRef": {"name": "theirs"}}])
    );
}

#[test]
fn a_conflict_discards_the_rule_and_the_next_rule_is_applied() {
    let first = rule(
        "a",
        "pod: {labels: {a: \"1\"}}\nvolumes: [{name: v, emptyDir: {}}]\nsidecars: [{name: app, image: x}]",
    );
    let second = rule("b", "pod: {labels: {b: \"1\"}}");
    let decision = decide(&rules(&format!("{first}{second}")), &pod(r#"{"containers":[{"name":"app"}]}"#));
    assert_eq!(words(&decision), ["conflict", "applied"]);
    assert_eq!(steps(&decision), [r#"add /metadata/labels/b "1""#]);
}

#[test]
fn items_that_others_add_to_lists_without_keys_are_ignored() {
    let spec = "required: true\nsidecars:\n- name: s\n  image: s\n  args: [one]\n  envFrom: [{configMapRef: {name: ours}}]\n  securityContext: {capabilities: {drop: [ALL]}}\nvolumes: [{name: v, projected: {sources: [{secret: {name: p, items: [{key: a, path: a}]}}]}}]";
    let rules = rules(&rule("r", spec));
    let first = applied(&rules, &creation(&pod(r#"{"containers":[{"name":"app"}]}"#)));
    for (ours, with_theirs) in [
        (r#"[{"configMapRef""#, r#"[{"configMapRef":{"name":"theirs"}},{"configMapRef""#),
        (r#"["ALL"]"#, r#"["NET_RAW","ALL"]"#),
        (r#""sources":["#, r#""sources":[{"configMap":{"name":"theirs"}},"#),
        (r#"{"key":"a","path":"a"}"#, r#"{"key":"b","path":"b"},{"key":"a","path":"a","mode":256}"#),
    ] {
        let second = first.replace(ours, with_theirs);
        assert_ne!(first, second, "{ours}");
        let decision = decide(&rules, &second);
        assert_eq!((word(&decision), decision.warnings.len()), ("unchanged", 0), "{ours}");
    }
    // The arguments of a program are one value.
    assert_eq!(word(&decide(&rules, &first.replace(r#"["one"]"#, r#"["one","two"]"#))), "denied");
    assert_eq!(word(&decide(&rules, &first.replace(r#"["ALL"]"#, r#"["NET_RAW"]"#))), "denied");
}

#[test]
fn override_adds_to_lists_that_others_add_to() {
    let spec =
        "onConflict: override\nsidecars: [{name: s, image: s, envFrom: [{configMapRef: {name: ours}}]}]";
    let theirs = pod(
        r#"{"initContainers":[{"name":"s","image":"s","restartPolicy":"Always","envFrom":[{"configMapRef":{"name":"theirs"}}]}]}"#,
    );
    let result = result(&rules(&rule("r", spec)), &theirs);
    let expected = json!([{"configMapRef": {"name": "theirs"}}, {"configMapRef": {"name": "ours"}}]);
    assert_eq!(result["spec"]["initContainers"][0]["envFrom"], expected);
}

#[test]
fn defaults_that_the_api_server_omits_count_as_present() {
    let spec = "sidecars:\n- name: agent\n  image: a\n  env: [{name: EMPTY, value: \"\"}]\n  inventedByUs: 1\n  volumeMounts: [{name: v, mountPath: /v, readOnly: false}]\nvolumes: [{name: v, emptyDir: {}}]";
    let rules = rules(&rule("agent", spec));
    assert_eq!(rules.warnings().len(), 1);
    let first = applied(&rules, &creation(&pod(r#"{"containers":[{"name":"app"}]}"#)));
    let stored = first
        .replace(r#","value":"""#, "")
        .replace(r#","readOnly":false"#, "")
        .replace(r#","inventedByUs":1"#, "");
    assert_ne!(first, stored);
    assert_eq!(word(&decide(&rules, &stored)), "unchanged");
}

#[test]
fn first_keeps_the_order_of_rules() {
    let text = rule("z", "order: -1\nsidecars: [{name: one, image: x}, {name: two, image: x}]")
        + &rule("a", "sidecars: [{name: three, image: x}]");
    let rules = rules(&text);
    let expected = ["one", "two", "three", "user"];
    for present in ["user", "one\"},{\"name\":\"user"] {
        let pod = pod(&format!(r#"{{"initContainers":[{{"name":"{present}"}}]}}"#))
            .replace(r#""name":"one""#, r#""name":"one","image":"x","restartPolicy":"Always""#);
        assert_eq!(names(&result(&rules, &pod)["spec"]["initContainers"]), expected);
    }
}

#[test]
fn anchors() {
    let spec = "sidecars:\n- {name: b, image: x, mode: regular, position: {containers: {before: app}}}\n- {name: c, image: x, mode: regular, position: {containers: {after: app}}}\n- {name: d, image: x, mode: regular, position: {containers: {after: nobody}}}\n- {name: e, image: x, mode: regular, position: {containers: {before: nobody}}}";
    let pod = pod(r#"{"containers":[{"name":"app"},{"name":"other"}]}"#);
    let rules = rules(&rule("anchors", spec));
    assert!(decide(&rules, &pod).warnings.is_empty());
    let result = result(&rules, &pod);
    assert_eq!(names(&result["spec"]["containers"]), ["e", "b", "app", "c", "other", "d"]);
    // `kubectl logs` still selects the user's container.
    assert_eq!(result["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"], "app");
}

/// Another webhook inserted a container at the beginning between the two calls.
#[test]
fn a_violated_position_is_a_warning_and_moves_nothing() {
    let ours = r#"{"name":"s","image":"x","restartPolicy":"Always"}"#;
    for (position, between, violated) in [
        ("first", format!(r#"{{"name":"theirs"}},{ours},{{"name":"user"}}"#), true),
        ("first", format!(r#"{ours},{{"name":"theirs"}},{{"name":"user"}}"#), false),
        ("last", format!(r#"{{"name":"user"}},{ours},{{"name":"theirs"}}"#), true),
        ("{before: user}", format!(r#"{{"name":"theirs"}},{ours},{{"name":"user"}}"#), false),
        ("{before: user}", format!(r#"{{"name":"user"}},{ours}"#), true),
        ("{after: user}", format!(r#"{ours},{{"name":"user"}}"#), true),
        ("{after: nobody}", format!(r#"{ours},{{"name":"user"}}"#), false),
    ] {
        let spec = format!(
            "required: true\nsidecars: [{{name: s, image: x, position: {{initContainers: {position}}}}}]"
        );
        let decision =
            decide(&rules(&rule("r", &spec)), &pod(&format!(r#"{{"initContainers":[{between}]}}"#)));
        assert_eq!((word(&decision), steps(&decision).len()), ("unchanged", 0), "{position}");
        assert_eq!(decision.warnings.len(), usize::from(violated), "{position}: {:?}", decision.warnings);
        assert!(decision.warnings.iter().all(|said| said.starts_with("anchor_violated: ")));
    }
    // The default position is not a promise, so it gives no warning.
    let silent = rules(&rule("r", "sidecars: [{name: s, image: x}]"));
    let decision = decide(&silent, &pod(&format!(r#"{{"initContainers":[{{"name":"theirs"}},{ours}]}}"#)));
    assert_eq!((word(&decision), decision.warnings.len()), ("unchanged", 0));
}

#[test]
fn blocks_select_only_containers_of_the_user() {
    let text = rule(
        "env",
        "containerPatches:\n- select: {all: true}\n  env: [{name: X, value: \"1\"}]\n- select: {index: 1}\n  env: [{name: Y, value: \"1\"}]",
    ) + &rule(
        "a-sidecar",
        "order: -1\nsidecars: [{name: s, image: s, mode: regular, position: {containers: first}}]",
    );
    let result = result(&rules(&text), &pod(r#"{"containers":[{"name":"app"},{"name":"two"}]}"#));
    let containers = &result["spec"]["containers"];
    assert_eq!(names(containers), ["s", "app", "two"]);
    assert!(containers[0].get("env").is_none());
    assert_eq!(names(&containers[1]["env"]), ["X"]);
    assert_eq!(names(&containers[2]["env"]), ["Y", "X"]);
}

#[test]
fn selection() {
    let pod = pod(
        r#"{"containers":[{"name":"a","image":"reg:5000/x/app:1@sha256:00"},{"name":"b","image":"other"}],"initContainers":[{"name":"i","image":"other:2"}]}"#,
    );
    let touched = |select: &str| {
        let spec = format!("containerPatches:\n- select: {{{select}}}\n  env: [{{name: X, value: \"1\"}}]");
        let result = result(&rules(&rule("env", &spec)), &pod);
        let all = ["containers", "initContainers"]
            .map(|list| result["spec"][list].as_array().unwrap().clone())
            .concat();
        all.iter()
            .filter(|one| one.get("env").is_some())
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect::<String>()
    };
    assert_eq!(touched("all: true"), "ab");
    assert_eq!(touched("all: true, init: true"), "abi");
    assert_eq!(touched("all: true, exclude: [a]"), "b");
    assert_eq!(touched("names: [b, i]"), "b");
    assert_eq!(touched("images: [\"reg:5000/x/app\"]"), "a");
    assert_eq!(touched("images: [other], init: true"), "bi");
    assert_eq!(touched("index: 7"), "");
}

#[test]
fn the_later_of_two_overriding_rules_wins() {
    let block = |value: &str| {
        format!(
            "onConflict: override\ncontainerPatches:\n- select: {{all: true}}\n  env: [{{name: X, value: {value}}}]\npod: {{labels: {{l: {value}}}}}"
        )
    };
    let rules = rules(&(rule("a", &block("one")) + &rule("b", &block("two"))));
    for env in ["[]", r#"[{"name":"X","value":"user"}]"#] {
        let result = result(&rules, &pod(&format!(r#"{{"containers":[{{"name":"app","env":{env}}}]}}"#)));
        assert_eq!(result["spec"]["containers"][0]["env"][0]["value"], "two");
        assert_eq!(result["metadata"]["labels"]["l"], "two");
    }
}

#[test]
fn override_of_a_whole_container() {
    let spec = "onConflict: override\nsidecars:\n- name: s\n  image: ours\n  args: [one]\n  env: [{name: A, value: ours}, {name: B, value: \"2\"}]\nvolumes: [{name: v, emptyDir: {}}]";
    let pod = pod(
        r#"{"containers":[{"name":"app"}],"initContainers":[{"name":"s","image":"theirs","args":["x","y"],"env":[{"name":"A","value":"1","q":1.0}],"kept":true}],"volumes":[{"name":"v","hostPath":{"path":"/"}}]}"#,
    );
    let result = result(&rules(&rule("s", spec)), &pod);
    let expected = json!({"name": "s", "image": "ours", "args": ["one"], "restartPolicy": "Always", "kept": true,
        "env": [{"name": "A", "value": "ours", "q": 1.0}, {"name": "B", "value": "2"}]});
    assert_eq!(result["spec"]["initContainers"][0], expected);
    assert_eq!(result["spec"]["volumes"], json!([{"name": "v", "emptyDir": {}}]));
}

#[test]
fn a_port_of_two_containers_is_a_conflict() {
    let rules =
        rules(&rule("s", "sidecars: [{name: s, image: s, ports: [{containerPort: 80, name: http}]}]"));
    let with = |ports: &str| pod(&format!(r#"{{"containers":[{{"name":"app","ports":[{ports}]}}]}}"#));
    assert_eq!(word(&decide(&rules, &with(r#"{"containerPort":80,"protocol":"TCP"}"#))), "conflict");
    assert_eq!(word(&decide(&rules, &with(r#"{"containerPort":81,"name":"http"}"#))), "conflict");
    assert_eq!(word(&decide(&rules, &with(r#"{"containerPort":80,"protocol":"UDP"}"#))), "applied");
}

#[test]
fn a_mount_without_a_volume_is_an_error_of_the_rule() {
    let spec = "sidecars: [{name: s, image: s, volumeMounts: [{name: nowhere, mountPath: /x}]}]";
    let web = pod(r#"{"containers":[{"name":"app"}]}"#);
    let decision = decide(&rules(&rule("s", spec)), &web);
    assert_eq!(word(&decision), "error");
    assert!(decision.warnings[0].contains("`nowhere`"));
    assert_eq!(word(&decide(&rules(&rule("s", &format!("onError: deny\n{spec}"))), &web)), "denied");
    assert_eq!(word(&decide(&rules(&rule("s", &format!("required: true\n{spec}"))), &web)), "denied");
}

#[test]
fn resources_per_key() {
    let spec = "containerPatches:\n- select: {all: true}\n  resources: {requests: {cpu: 1, memory: 64Mi}, limits: {memory: 1Gi}}";
    let pod = pod(
        r#"{"containers":[{"name":"a"},{"name":"b","resources":{"requests":{"cpu":"1000m","ephemeral-storage":1}}},{"name":"c","resources":{"requests":{"cpu":"2"}}}]}"#,
    );
    let result = result(&rules(&rule("r", spec)), &pod);
    let containers = &result["spec"]["containers"];
    assert_eq!(
        containers[0]["resources"],
        json!({"requests": {"cpu": "1", "memory": "64Mi"}, "limits": {"memory": "1Gi"}})
    );
    assert_eq!(
        containers[1]["resources"]["requests"],
        json!({"cpu": "1000m", "ephemeral-storage": 1, "memory": "64Mi"})
    );
    assert_eq!(containers[2]["resources"]["requests"]["cpu"], "2");
}

#[test]
fn the_environment_of_the_pod() {
    let text = rule("env", "pod: {labels: {x: y}}").replace("match: {", "match: {hostNetwork: skip, ");
    let rules = rules(&text);
    for (spec, reason) in [
        (r#"{"hostNetwork":true}"#, "host_network"),
        (r#"{"hostNetwork":false}"#, "applied"),
        (r#"{"os":{"name":"windows"}}"#, "os_mismatch"),
        (r#"{"nodeSelector":{"kubernetes.io/os":"windows"}}"#, "os_mismatch"),
        (r#"{"nodeSelector":{"beta.kubernetes.io/os":"windows"}}"#, "os_mismatch"),
        (r#"{"os":{"name":"linux"}}"#, "applied"),
    ] {
        assert_eq!(word(&decide(&rules, &pod(spec))), reason, "{spec}");
    }
}

#[test]
fn labels_of_the_selector_must_not_change() {
    let text = rule("l", "targets: [deployments]\npod: {labels: {tier: ours}}");
    let object = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"selector":{"matchLabels":{"tier":"theirs"}},"template":{"metadata":{"labels":{"app":"web","tier":"theirs"}},"spec":{}}}}"#;
    let subject = creation(object).resource(Resource::Deployments);
    assert_eq!(word(&evaluate(&rules(&text), &subject)), "unchanged");
    assert_eq!(word(&evaluate(&rules(&format!("{text}  onConflict: override\n")), &subject)), "error");
    let free = object.replace("theirs", "x").replace(r#"{"matchLabels":{"tier":"x"}}"#, "{}");
    let subject = subject.object(&free);
    let result = applied(&rules(&format!("{text}  onConflict: override\n")), &subject);
    assert!(result.contains(r#""template":{"metadata":{"labels":{"app":"web","tier":"ours"}}"#), "{result}");
}

#[test]
fn quantities_may_be_written_as_numbers() {
    let rules = rules(&rule("v", "volumes: [{name: v, emptyDir: {sizeLimit: 1000}}]"));
    let stored = applied(&rules, &creation(&pod("{}"))).replace("\"1000\"", "\"1k\"");
    assert!(stored.contains("1k"));
    assert_eq!(word(&decide(&rules, &stored)), "unchanged");
}

#[test]
fn override_writes_no_item_of_a_list_that_is_there_already() {
    let object = pod(
        r#"{"containers":[{"name":"app","image":"i"},{"name":"s","image":"theirs","securityContext":{"capabilities":{"add":["NET_ADMIN"]}}}]}"#,
    );
    let spec = "onConflict: override\nsidecars: [{name: s, image: ours, mode: regular, securityContext: {capabilities: {add: [NET_ADMIN, SYS_TIME]}}}]";
    let expected = [
        r#"replace /spec/containers/1/image "ours""#,
        r#"add /spec/containers/1/securityContext/capabilities/add/- "SYS_TIME""#,
    ];
    assert_eq!(steps(&decide(&rules(&rule("r", spec)), &object)), expected);
}
