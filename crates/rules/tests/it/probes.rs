//! `rewriteProbes`: the kubelet asks one container for the health of all others.

use proptest::prelude::*;
use serde_json::{Value, json};

use vestibule_rules::Resource;

use crate::kit::{applied, creation, decide, load, pod, result, rule, rules, steps, word, words};

const PROXY: &str = "sidecars: [{name: proxy, image: 'proxy:1', readinessProbe: {httpGet: {path: /ready, port: 15021}}}]\n\
    rewriteProbes: {container: proxy, port: 15020, env: APP_PROBERS}\n";

const APP: &str = r#"{"containers":[{"name":"app","ports":[{"name":"http","containerPort":8080}],
    "livenessProbe":{"httpGet":{"path":"/live","port":"http","scheme":"HTTPS","httpHeaders":[{"name":"a","value":"b"}]},"timeoutSeconds":3},
    "readinessProbe":{"tcpSocket":{"port":9000},"periodSeconds":5},
    "startupProbe":{"exec":{"command":["true"]}}}]}"#;

fn container<'v>(made: &'v Value, list: &str, name: &str) -> &'v Value {
    made["spec"][list].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
}

fn proxy(made: &Value) -> &Value {
    let native = made["spec"]["initContainers"].as_array().into_iter().flatten();
    let regular = made["spec"]["containers"].as_array().into_iter().flatten();
    native.chain(regular).find(|one| one["name"] == "proxy").unwrap()
}

/// The variable of the proxy, by path.
fn probers(made: &Value) -> Value {
    let variable = proxy(made)["env"].as_array().unwrap().iter().find(|one| one["name"] == "APP_PROBERS");
    serde_json::from_str(variable.unwrap()["value"].as_str().unwrap()).unwrap()
}

#[test]
fn network_probes_ask_the_container_and_the_originals_are_in_its_variable() {
    let rules = rules(&rule("mesh", PROXY));
    let made = result(&rules, &pod(APP));
    let app = container(&made, "containers", "app");
    assert_eq!(
        app["livenessProbe"],
        json!({"httpGet": {"path": "/app-health/app/livez", "port": 15020, "scheme": "HTTP"}, "timeoutSeconds": 3})
    );
    assert_eq!(
        app["readinessProbe"],
        json!({"httpGet": {"path": "/app-health/app/readyz", "port": 15020, "scheme": "HTTP"}, "periodSeconds": 5})
    );
    assert_eq!(app["startupProbe"], json!({"exec": {"command": ["true"]}}));
    let live = json!({"path": "/live", "port": 8080, "scheme": "HTTPS", "httpHeaders": [{"name": "a", "value": "b"}]});
    assert_eq!(
        probers(&made),
        json!({
            "/app-health/app/livez": {"httpGet": live, "timeoutSeconds": 3},
            "/app-health/app/readyz": {"tcpSocket": {"port": 9000}},
        })
    );
    assert_eq!(proxy(&made)["readinessProbe"], json!({"httpGet": {"path": "/ready", "port": 15021}}));
    let status = made["metadata"]["annotations"]["vestibule.dev/injected"].as_str().unwrap();
    assert!(
        status.contains("\"container:proxy\",\"probe:app/livenessProbe\",\"probe:app/readinessProbe\"")
            || status.contains("\"init:proxy\",\"probe:app/livenessProbe\",\"probe:app/readinessProbe\""),
        "{status}"
    );
    assert!(rules.prove().is_ok());
}

/// The API server adds a scheme to a handler without one, and a further call would find another handler.
#[test]
fn rewritten_handlers_have_the_scheme_that_the_api_server_would_add() {
    let rules = rules(&rule("mesh", PROXY));
    let made = result(&rules, &pod(APP));
    assert_eq!(made["spec"]["containers"][0]["readinessProbe"]["httpGet"]["scheme"], "HTTP");
    let decision = decide(&rules, &made.to_string());
    assert_eq!((words(&decision), steps(&decision)), (vec!["unchanged"], vec![]));
}

/// Without the original handlers, the rule would find that its container has another probe than it wants.
#[test]
fn probes_of_containers_of_other_rules_are_rewritten() {
    let text = rule("mesh", PROXY)
        + &rule(
            "logs",
            "onConflict: deny\n\
             sidecars: [{name: logs, image: 'logs:1', mode: regular, ports: [{name: web, containerPort: 80}], livenessProbe: {httpGet: {path: /, port: web}}}]\n\
             containerPatches: [{select: {names: [app]}, readinessProbe: {grpc: {port: 7}}, onConflict: override}]",
        );
    let rules = rules(&text);
    let made = result(&rules, &pod(APP));
    let probers = probers(&made);
    assert_eq!(probers["/app-health/logs/livez"], json!({"httpGet": {"path": "/", "port": 80}}));
    assert_eq!(probers["/app-health/app/readyz"], json!({"grpc": {"port": 7}}));
    let decision = decide(&rules, &made.to_string());
    assert_eq!(words(&decision), ["unchanged", "unchanged"]);
    assert!(rules.prove().is_ok());
}

#[test]
fn conditions_read_the_original_probes() {
    let text = rule("mesh", PROXY)
        + &rule(
            "z",
            "matchConditions: [{name: live, expression: \"object.spec.containers[0].livenessProbe.httpGet.path == '/live'\"}]\n\
             pod: {labels: {live: 'yes'}}",
        );
    let rules = rules(&text);
    let mut made = result(&rules, &pod(APP));
    assert_eq!(made["metadata"]["labels"]["live"], "yes");
    made["metadata"]["labels"].as_object_mut().unwrap().remove("live");
    let again = result(&rules, &made.to_string());
    assert_eq!(again["metadata"]["labels"]["live"], "yes");
    assert_eq!(again["spec"], made["spec"]);
}

/// A further call shows expressions no annotation and no variable of an earlier rewriting, so their values stay the same.
#[test]
fn expressions_see_no_trace_of_the_rewriting() {
    let count = "string(size(object.?metadata.?annotations.orValue({}))) + string(size(object.spec.containers[1].?env.orValue([])))";
    let text = rule(
        "mesh",
        &format!(
            "targets: [pods, deployments]\nmatch: {{objectSelector: {{matchLabels: {{app: web}}}}}}\n{}",
            "rewriteProbes: {container: proxy, port: 15020, env: P}"
        ),
    )
    .replacen("  match: {objectSelector: {matchLabels: {app: web}}}\n", "", 1)
        + &rule("z", &format!("pod: {{labels: {{count: {{$cel: \"{count}\"}}}}}}\nonConflict: override"));
    let rules = rules(&text);
    let object =
        pod(r#"{"containers":[{"name":"app","livenessProbe":{"grpc":{"port":1}}},{"name":"proxy"}]}"#);
    let made = result(&rules, &object);
    assert_eq!(made["metadata"]["labels"]["count"], "00");
    let mut other = made.clone();
    other["metadata"]["labels"].as_object_mut().unwrap().remove("count");
    assert_eq!(result(&rules, &other.to_string())["metadata"]["labels"]["count"], "00");

    let template = object.replace("\"name\":\"web\",", "");
    let deployment = format!(r#"{{"metadata":{{"name":"web"}},"spec":{{"template":{template}}}}}"#);
    let subject = creation(&deployment).resource(Resource::Deployments);
    let made: Value = serde_json::from_str(&applied(&rules, &subject)).unwrap();
    let path = &made["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"]["path"];
    assert_eq!(path, "/app-health/app/livez");
}

#[test]
fn the_annotation_belongs_to_the_injector() {
    let cases = [
        "pod: {annotations: {vestibule.dev/original-probes: x}}",
        "parameters: [{name: p, type: string, default: '', annotation: vestibule.dev/original-probes}]\npod: {labels: {a: b}}",
    ];
    for spec in cases {
        let found = load(&rule("r", spec)).err().unwrap();
        assert!(
            found.iter().any(|one| one.message().contains("injector itself writes")),
            "{spec}: {found:?}"
        );
    }
}

/// Its own change makes the condition of the rule false.
#[test]
fn a_rule_that_ended_itself_leaves_the_probes_rewritten() {
    let condition = "matchConditions: [{name: once, expression: \"!object.spec.containers.exists(one, one.name == 'proxy')\"}]\n";
    let rules =
        rules(&rule("mesh", &format!("{condition}{}", PROXY.replace("image:", "mode: regular, image:"))));
    let made = result(&rules, &pod(APP));
    assert_eq!(made["spec"]["containers"][0]["livenessProbe"]["httpGet"]["path"], "/app-health/app/livez");
    let again = decide(&rules, &made.to_string());
    assert_eq!((word(&again), steps(&again)), ("match_condition_false", vec![]));
}

#[test]
fn another_rule_may_ask_for_it_and_opt_out() {
    let text = rule("mesh", "sidecars: [{name: proxy, image: 'proxy:1', mode: regular}]")
        + &rule(
            "probes",
            "parameters: [{name: rewrite, type: bool, default: 'true', annotation: example.com/rewrite-probes}]\n\
             matchConditions: [{name: asked, expression: params.rewrite}]\n\
             rewriteProbes: {container: proxy, port: 1, env: P, path: /health/of}",
        );
    let rules = rules(&text);
    let made = result(&rules, &pod(APP));
    assert_eq!(made["spec"]["containers"][0]["livenessProbe"]["httpGet"]["path"], "/health/of/app/livez");
    let out = pod(APP)
        .replace("\"labels\"", "\"annotations\":{\"example.com/rewrite-probes\":\"false\"},\"labels\"");
    let made = result(&rules, &out);
    assert_eq!(made["spec"]["containers"][0]["livenessProbe"]["httpGet"]["path"], "/live");
}

/// Nothing is written, and the rule is unchanged, if the pod does not have the container.
#[test]
fn without_the_container_nothing_is_rewritten() {
    let rules = rules(&rule("probes", "rewriteProbes: {container: proxy, port: 1, env: P}"));
    let decision = decide(&rules, &pod(APP));
    assert_eq!((word(&decision), steps(&decision)), ("unchanged", vec![]));
    assert!(decision.warnings.is_empty(), "{:?}", decision.warnings);
}

#[test]
fn what_cannot_be_rewritten_stays_and_is_a_warning() {
    let rules = rules(&rule("mesh", "rewriteProbes: {container: proxy, port: 15020, env: P}"));
    let with = |app: &str, env: &str| {
        pod(&format!(
            r#"{{"containers":[{{"name":"app","livenessProbe":{app}}},{{"name":"proxy","env":{env}}}]}}"#
        ))
    };
    let named = r#"{"httpGet":{"path":"/","port":"none"}}"#;
    let numbered = r#"{"httpGet":{"path":"/","port":80}}"#;
    let cases = [
        (
            named,
            "[]",
            "the livenessProbe of container `app` was not rewritten: the container has no port of the name that it asks for",
        ),
        (
            numbered,
            r#"[{"name":"P","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]"#,
            "rule mesh rewrote no probes: variable `P` of container `proxy` has its value from elsewhere, so the probes cannot be added to it",
        ),
        (
            numbered,
            r#"[{"name":"P","value":"[1]"}]"#,
            "rule mesh rewrote no probes: variable `P` of container `proxy` has a value that is no JSON object",
        ),
        (
            numbered,
            r#"{}"#,
            "rule mesh rewrote no probes: variable `P` of container `proxy` cannot be written: `env` is not a list",
        ),
    ];
    for (app, env, warning) in cases {
        let object = with(app, env);
        let decision = decide(&rules, &object);
        assert_eq!((word(&decision), steps(&decision)), ("unchanged", vec![]), "{object}");
        assert_eq!(decision.warnings, [warning]);
    }
    // The port that answers is left alone, and entries of another injector are kept.
    let object = with(numbered, r#"[{"name":"P","value":"{\"/x\":{\"grpc\":{\"port\":1}}}"}]"#);
    let value = result(&rules, &object)["spec"]["containers"][1]["env"][0]["value"].to_string();
    assert!(value.contains("/x") && value.contains("/app-health/app/livez"), "{value}");
    for port in ["15020", "0", "65536"] {
        let kept = with(&format!(r#"{{"httpGet":{{"path":"/mine","port":{port}}}}}"#), "[]");
        assert_eq!(steps(&decide(&rules, &kept)), Vec::<String>::new(), "{port}");
    }
}

/// A pod with very many probes stays one that the API server and Linux take.
#[test]
fn the_annotation_and_the_variable_are_bounded() {
    let rules = rules(&rule("mesh", "rewriteProbes: {container: proxy, port: 15020, env: P}"));
    let path = "x".repeat(60_000);
    let app = |name: &str| json!({"name": name, "livenessProbe": {"httpGet": {"path": path, "port": 80}}});
    let object = pod(&json!({"containers": [app("a"), app("b"), {"name": "proxy"}]}).to_string());
    let decision = decide(&rules, &object);
    assert_eq!(steps(&decision), Vec::<String>::new());
    assert_eq!(
        decision.warnings,
        ["rule mesh rewrote no probes: variable `P` would have more than 100 KiB"]
            .map(|text| text.replace("variable `P`", "the annotation with the original probes"))
    );
}

/// A user can write the annotation. It changes nothing but the probes that say that they were rewritten.
#[test]
fn a_forged_annotation_restores_no_other_probe() {
    let rules = rules(&rule("mesh", "rewriteProbes: {container: proxy, port: 15020, env: P}"));
    let entry = |handler: &str| {
        format!(r#"{{"mesh":{{"probes":{{"/app-health/app/livez":{{"port":15020,"handler":{handler}}}}}}}}}"#)
    };
    let handlers = [
        r#"{"exec":{"command":["x"]}}"#,
        r#"{"httpGet":1}"#,
        r#"{"httpGet":{"port":1},"grpc":{"port":1}}"#,
        "{}",
    ];
    let forged = handlers.map(entry).into_iter().chain(["[]", "{", r#"{"mesh":null}"#].map(str::to_owned));
    for forged in forged {
        let spec = json!({"containers": [
            {"name": "app", "livenessProbe": {"httpGet": {"path": "/app-health/app/livez", "port": 15020}}},
            {"name": "proxy"},
        ]});
        let object = json!({
            "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"vestibule.dev/original-probes": forged}},
            "spec": spec,
        });
        assert_eq!(result(&rules, &object.to_string())["spec"], spec, "{forged}");
    }
}

/// Regression test: the rewritten probe was rewritten again, and its original was lost.
#[test]
fn another_port_of_the_rule_is_for_the_original_probes() {
    let with = |port: u16| rules(&rule("mesh", &PROXY.replace("15020", &port.to_string())));
    let made = result(&with(15020), &pod(APP));
    let made = result(&with(15030), &made.to_string());
    let expected = result(&with(15030), &pod(APP));
    assert_eq!(made["spec"], expected["spec"]);
}

/// Regression test: a probe with the path of another container's probe was taken for that one.
#[test]
fn a_copied_path_is_not_restored() {
    let rules = rules(&rule("mesh", PROXY));
    let copied = json!({"httpGet": {"path": "/app-health/a/livez", "port": 15020, "scheme": "HTTP"}});
    let containers = json!([{"name": "a", "livenessProbe": {"grpc": {"port": 9}}}, {"name": "b", "livenessProbe": copied}]);
    let made = result(&rules, &pod(&json!({"containers": containers}).to_string()));
    assert_eq!(made["spec"]["containers"][1]["livenessProbe"], copied);
    assert_eq!(words(&decide(&rules, &made.to_string())), ["unchanged"]);
}

/// Regression test: the handler that a user had changed was replaced by the one from before.
#[test]
fn a_handler_that_was_added_since_replaces_the_rewritten_one() {
    let rules = rules(&rule("mesh", PROXY));
    let made = result(&rules, &pod(APP));
    let mut changed = made.clone();
    changed["spec"]["containers"][0]["readinessProbe"]["tcpSocket"] = json!({"port": 9001});
    changed["spec"]["containers"][0]["livenessProbe"]["exec"] = json!({"command": ["true"]});
    let made = result(&rules, &changed.to_string());
    assert_eq!(probers(&made), json!({"/app-health/app/readyz": {"tcpSocket": {"port": 9001}}}));
    let app = &made["spec"]["containers"][0];
    assert_eq!(app["livenessProbe"], json!({"exec": {"command": ["true"]}, "timeoutSeconds": 3}));
}

/// Regression test: a second call moved a variable that had been there, or found another value than the rule's own.
#[test]
fn a_variable_that_was_there_is_found_again() {
    let app = r#"{"name":"app","livenessProbe":{"grpc":{"port":1}}}"#;
    let rules = rules(&rule("mesh", "rewriteProbes: {container: proxy, port: 15020, env: P}"));
    for written in ["", "{}", r#"{ "/x": {} }"#] {
        let proxy =
            json!({"name": "proxy", "env": [{"name": "P", "value": written}, {"name": "X", "value": "y"}]});
        let made = result(&rules, &pod(&format!(r#"{{"containers":[{app},{proxy}]}}"#)));
        let env = &made["spec"]["containers"][1]["env"];
        assert_eq!((&env[0]["name"], &env[1]["name"]), (&json!("P"), &json!("X")));
    }
    let own = "onConflict: deny\n\
        sidecars: [{name: proxy, image: 'proxy:1', env: [{name: P, value: '{\"/x\": {\"grpc\": {\"port\": 1}}}'}]}]\n\
        rewriteProbes: {container: proxy, port: 15020, env: P}";
    let rules = crate::kit::rules(&rule("own", own));
    let made = result(&rules, &pod(&format!(r#"{{"containers":[{app}]}}"#)));
    assert_eq!(words(&decide(&rules, &made.to_string())), ["unchanged"]);
}

/// A native sidecar that waited for a container that starts after it would never start.
#[test]
fn probes_of_containers_that_start_earlier_stay() {
    let rules = rules(&rule("mesh", "rewriteProbes: {container: proxy, port: 15020, env: P}"));
    let container = |name: &str| json!({"name": name, "restartPolicy": "Always", "startupProbe": {"tcpSocket": {"port": 1}}});
    let path = |made: &Value, index: usize| {
        made["spec"]["initContainers"][index]["startupProbe"]["httpGet"].is_object()
    };
    let beside =
        json!({"initContainers": [container("a"), container("proxy"), container("b")], "containers": []});
    let made = result(&rules, &pod(&beside.to_string()));
    assert_eq!([0, 1, 2].map(|index| path(&made, index)), [false, false, true]);
    let regular = json!({"initContainers": [container("a")], "containers": [{"name": "proxy"}]});
    assert!(steps(&decide(&rules, &pod(&regular.to_string()))).is_empty());
}

#[test]
fn mistakes_are_found_when_rules_are_read() {
    let cases = [
        ("{container: proxy, port: 15020}", "`env` is missing in `rewriteProbes`"),
        ("{container: proxy, port: 0, env: P}", "`port` cannot be 0"),
        ("{container: proxy, port: 1, env: P, path: health}", "`path` cannot be `health`"),
        ("{container: proxy, port: 1, env: P, path: /health/}", "`path` cannot be `/health/`"),
        ("{container: proxy, port: 1, env: P, path: '/a?b'}", "`path` cannot be `/a?b`"),
        ("{container: Proxy, port: 1, env: P}", "no container can have this name"),
        ("{container: proxy, port: 1, env: 'a=b'}", "no variable can have this name"),
        ("{container: proxy, port: 1, env: P, handlers: []}", "unknown field `handlers` in `rewriteProbes`"),
    ];
    for (written, message) in cases {
        let found = load(&rule("mesh", &format!("rewriteProbes: {written}"))).err().unwrap();
        let found: Vec<_> = found.iter().map(|one| one.message().to_owned()).collect();
        assert!(found.iter().any(|one| one == message), "{written}: {found:?}");
    }
}

fn probe() -> impl Strategy<Value = Value> {
    let port = prop_oneof![Just(json!(80)), Just(json!("http")), Just(json!("none")), Just(json!(15020))];
    prop_oneof![
        (port.clone(), "/[a-z]{0,3}")
            .prop_map(|(port, path)| json!({"httpGet": {"path": path, "port": port}})),
        port.prop_map(|port| json!({"tcpSocket": {"port": port}, "timeoutSeconds": 2})),
        Just(json!({"grpc": {"port": 9, "service": "x"}})),
        Just(json!({"exec": {"command": ["true"]}})),
        Just(json!({"httpGet": {"path": "/app-health/a/livez", "port": 15020}})),
        Just(json!({"httpGet": null, "tcpSocket": {"port": 3}})),
    ]
}

fn app(name: &'static str) -> impl Strategy<Value = Value> {
    let probes = [(); 3].map(|()| prop::option::of(probe()));
    (probes, any::<bool>()).prop_map(move |([live, ready, startup], has_port)| {
        let mut container = json!({"name": name});
        for (member, probe) in [("livenessProbe", live), ("readinessProbe", ready), ("startupProbe", startup)]
        {
            if let Some(probe) = probe {
                container[member] = probe;
            }
        }
        if has_port {
            container["ports"] = json!([{"name": "http", "containerPort": 8080}]);
        }
        container
    })
}

proptest! {
    /// A further call changes nothing, and every handler can be found in the variable or
    /// is as it was.
    #[test]
    fn rewriting_is_idempotent_and_loses_no_handler(a in app("a"), b in app("b"), native in any::<bool>()) {
        let mode = if native { "native" } else { "regular" };
        let text = rule("mesh", &PROXY.replace("image:", &format!("mode: {mode}, image:")))
            + &rule(
                "more",
                &format!("onConflict: deny\nsidecars: [{{name: c, image: 'c:1', mode: {mode}, livenessProbe: {{httpGet: {{path: /c, port: 1}}}}}}]"),
            )
            + &rule("patch", "containerPatches: [{select: {names: [a]}, startupProbe: {tcpSocket: {port: 5}}, onConflict: override}]");
        let rules = rules(&text);
        let written = json!({"containers": [a, b]});
        let object = pod(&written.to_string());
        let made = applied(&rules, &creation(&object));
        let made: Value = serde_json::from_str(&made).unwrap();
        let found = made["spec"]["containers"].as_array().unwrap();
        for (before, after) in written["containers"].as_array().unwrap().iter().zip(found) {
            for (member, word) in [("livenessProbe", "livez"), ("readinessProbe", "readyz")] {
                if before[member] == after[member] {
                    continue;
                }
                let path = after[member]["httpGet"]["path"].as_str().unwrap();
                prop_assert_eq!(path, format!("/app-health/{}/{word}", before["name"].as_str().unwrap()));
                let kept = &probers(&made)[path];
                for handler in ["httpGet", "tcpSocket", "grpc"] {
                    let was = before[member].get(handler).filter(|value| !value.is_null());
                    prop_assert_eq!(kept.get(handler).map(|kept| &kept["path"]), was.map(|was| &was["path"]));
                }
            }
        }
    }
}
