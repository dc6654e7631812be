//! Items and members that the object has in another form than a rule writes them.

use serde_json::json;

use crate::kit::{decide, headlines, pod, result, rule, rules, steps, word};

/// How many tolerations a rule with the toleration `wanted` adds to a pod with the toleration `present`.
fn added_tolerations(wanted: &str, present: &str) -> usize {
    let rules = rules(&rule("r", &format!("pod: {{spec: {{tolerations: [{wanted}]}}}}")));
    let object = pod(&format!(r#"{{"containers":[{{"name":"app"}}],"tolerations":[{present}]}}"#));
    result(&rules, &object);
    steps(&decide(&rules, &object)).len()
}

/// Every pod has tolerations with `operator: Exists` from the API server, so a toleration of all taints was never added.
#[test]
fn a_wider_toleration_is_added_beside_a_narrower_one() {
    let of_api_server = r#"{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}"#;
    assert_eq!(added_tolerations("{operator: Exists}", of_api_server), 1);
    let wanted = "{key: k, operator: Exists}";
    assert_eq!(added_tolerations(wanted, r#"{"key":"k","operator":"Exists","effect":"NoSchedule"}"#), 1);
    assert_eq!(added_tolerations(wanted, r#"{"key":"k","operator":"Exists"}"#), 0);
    assert_eq!(added_tolerations(wanted, r#"{"key":"k","operator":"Exists","effect":"","value":null}"#), 0);
}

/// The API server gives each pod a toleration for 300 seconds before it calls webhooks. That of the rule was appended behind it, where it
/// has no effect, and was reported as applied.
#[test]
fn a_toleration_with_other_seconds_is_the_same_one() {
    const MEMBERS: &str = r#""key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute""#;
    let object = pod(&format!(
        r#"{{"containers":[{{"name":"app"}}],"tolerations":[{{"key":"a"}},{{{MEMBERS},"tolerationSeconds":300}},{{"key":"b"}}]}}"#
    ));
    let with = |how: &str, wanted: &str| {
        let wanted =
            format!("{{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute{wanted}}}");
        rules(&rule("r", &format!("onConflict: {how}\npod: {{spec: {{tolerations: [{wanted}]}}}}")))
    };
    for (wanted, expected) in [
        (", tolerationSeconds: 30", vec!["replace /spec/tolerations/1/tolerationSeconds 30"]),
        (", value: '', tolerationSeconds: 30", vec!["replace /spec/tolerations/1/tolerationSeconds 30"]),
        ("", vec!["remove /spec/tolerations/1/tolerationSeconds"]),
        (", tolerationSeconds: 300", vec![]),
    ] {
        let rules = with("override", wanted);
        let decision = decide(&rules, &object);
        assert_eq!(steps(&decision), expected, "{wanted}");
        // A further call changes nothing.
        result(&rules, &object);
        let is_same = expected.is_empty();
        for (how, differs) in [("keep", "unchanged"), ("skipRule", "conflict"), ("deny", "denied")] {
            let decision = decide(&with(how, wanted), &object);
            assert_eq!(word(&decision), if is_same { "unchanged" } else { differs }, "{how}{wanted}");
        }
    }
    let seconds = r#", tolerationSeconds: {$cel: "30"}"#;
    let computed = decide(&with("override", seconds), &object);
    assert_eq!(steps(&computed), ["replace /spec/tolerations/1/tolerationSeconds 30"]);
}

/// Each call exchanged the seconds twice, or added the item of each rule.
#[test]
fn of_two_rules_that_override_a_toleration_the_later_one_wins() {
    let spec = |seconds: u32, key: &str| {
        format!(
            "onConflict: override\npod: {{spec: {{tolerations: [{{{key}, effect: NoExecute, tolerationSeconds: {seconds}}}]}}}}"
        )
    };
    let object = pod(
        r#"{"containers":[{"name":"app"}],"tolerations":[{"key":"k","effect":"NoExecute","tolerationSeconds":300}]}"#,
    );
    for keys in [
        ["key: k", "key: k, operator: Equal"],
        [r#"key: {$cel: "'k'"}"#, "key: k"],
        ["key: k", r#"forEach: "['k']", key: {$cel: each}"#],
    ] {
        let rules = rules(&format!("{}{}", rule("a", &spec(30, keys[0])), rule("b", &spec(60, keys[1]))));
        assert_eq!(
            steps(&decide(&rules, &object)),
            ["replace /spec/tolerations/0/tolerationSeconds 60"],
            "{keys:?}"
        );
        result(&rules, &object);
    }
}

/// The second one has no effect, and with `override` both would be written in turn.
#[test]
fn a_rule_with_two_tolerations_that_differ_in_seconds_is_refused() {
    let spec = |second: &str| {
        let one = "{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 30}";
        rule("r", &format!("pod: {{spec: {{tolerations: [{one}, {second}]}}}}"))
    };
    let headlines = headlines(&spec("{key: k, operator: Exists, effect: NoExecute}"));
    assert!(
        headlines.iter().any(|line| line.contains("`k` appears twice in `tolerations`")),
        "{headlines:?}"
    );
    rules(&spec("{key: k, operator: Exists, effect: NoSchedule}"));
}

#[test]
fn computed_tolerations_that_differ_in_seconds_are_an_error_of_the_rule() {
    for key in ["{$cel: \"'k'\"}", "{$cel: \"object.metadata.name.replace('web', 'k')\"}"] {
        let items = format!(
            "{{key: {key}, effect: NoExecute, tolerationSeconds: 30}}, {{key: k, effect: NoExecute, tolerationSeconds: 60}}"
        );
        let rules =
            rules(&rule("r", &format!("onConflict: override\npod: {{spec: {{tolerations: [{items}]}}}}")));
        let object =
            r#"{"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"app"}]}}"#;
        let decision = decide(&rules, object);
        assert_eq!((word(&decision), decision.patch().len()), ("error", 0), "{key}: {:?}", decision.warnings);
    }
}

/// Kubernetes uses the first toleration that matches a taint.
#[test]
fn of_equal_tolerations_the_first_is_changed() {
    const ITEM: &str = r#""key":"k","operator":"Exists","effect":"NoExecute""#;
    let object = pod(&format!(
        r#"{{"containers":[{{"name":"app"}}],"tolerations":[{{{ITEM},"tolerationSeconds":300}},{{{ITEM},"tolerationSeconds":30}}]}}"#
    ));
    let others: String = (0..20).map(|number| format!(", {{key: k{number}, operator: Exists}}")).collect();
    for others in ["", &others] {
        let lines = format!(
            "onConflict: override\npod: {{spec: {{tolerations: [{{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 30}}{others}]}}}}"
        );
        let decision = decide(&rules(&rule("r", &lines)), &object);
        let changed = "replace /spec/tolerations/0/tolerationSeconds 30".to_owned();
        assert!(steps(&decision).contains(&changed), "{:?}", steps(&decision));
    }
}

/// The value of a toleration may be one of the pod's labels.
#[test]
fn a_toleration_with_a_computed_value_is_found_again() {
    let of_label = r#"value: {$cel: "object.metadata.labels['team']"}"#;
    let spec = format!(
        "onConflict: override\npod: {{spec: {{tolerations: [{{key: k, {of_label}, effect: NoExecute, tolerationSeconds: 30}}]}}}}"
    );
    let rules = rules(&rule("r", &spec));
    let item = |value: &str| {
        format!(r#"{{"key":"k","value":"{value}","effect":"NoExecute","tolerationSeconds":300}}"#)
    };
    let object = format!(
        r#"{{"metadata":{{"name":"web","labels":{{"app":"web","team":"a"}}}},"spec":{{"containers":[{{"name":"app"}}],"tolerations":[{},{}]}}}}"#,
        item("b"),
        item("a")
    );
    let decision = decide(&rules, &object);
    assert_eq!(steps(&decision), ["replace /spec/tolerations/1/tolerationSeconds 30"]);
    result(&rules, &object);
}

#[test]
fn a_source_of_variables_with_a_prefix_is_another_one() {
    let rules =
        rules(&rule("r", "containerPatches: [{select: {all: true}, envFrom: [{configMapRef: {name: c}}]}]"));
    let object =
        pod(r#"{"containers":[{"name":"app","envFrom":[{"configMapRef":{"name":"c"},"prefix":"X_"}]}]}"#);
    assert_eq!(steps(&decide(&rules, &object)).len(), 1);
    result(&rules, &object);
}

/// A pod whose ConfigMap may be missing got the same source once more, and did not start without the ConfigMap.
#[test]
fn a_source_of_variables_that_may_be_missing_is_the_same() {
    let source = |optional: &str| format!("{{configMapRef: {{name: c{optional}}}}}");
    let added = |wanted: &str, present: &str| {
        let spec = format!("containerPatches: [{{select: {{all: true}}, envFrom: [{}]}}]", source(wanted));
        let rules = rules(&rule("r", &spec));
        let object = pod(&format!(
            r#"{{"containers":[{{"name":"app","envFrom":[{{"configMapRef":{{"name":"c"{present}}}}}]}}]}}"#
        ));
        result(&rules, &object);
        steps(&decide(&rules, &object)).len()
    };
    assert_eq!(added("", r#","optional":true"#), 0);
    assert_eq!(added("", r#","optional":false"#), 0);
    assert_eq!(added(", optional: true", r#","optional":true"#), 0);
    assert_eq!(added(", optional: true", ""), 1, "the pod's own source still decides");
}

/// A further call of the API server found the probe without the zero, and denied the pod of a required rule.
#[test]
fn a_zero_that_the_api_server_omits_is_not_a_conflict() {
    let spec =
        "sidecars: [{name: s, image: i, readinessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 0}}]";
    let object = pod(
        r#"{"initContainers":[{"name":"s","image":"i","restartPolicy":"Always","readinessProbe":{"tcpSocket":{"port":80},"timeoutSeconds":1}}],"containers":[{"name":"app"}]}"#,
    );
    assert_eq!(word(&decide(&rules(&rule("r", spec)), &object)), "unchanged");
}

/// AlwaysPullImages replaces the policy before a further call, in which a required rule denied the pod.
#[test]
fn a_pull_policy_that_the_api_server_replaces_is_not_a_conflict() {
    let spec = "sidecars: [{name: s, image: i, imagePullPolicy: IfNotPresent}]";
    let with = |policy: &str| {
        let sidecar =
            format!(r#"{{"name":"s","image":"i","restartPolicy":"Always","imagePullPolicy":"{policy}"}}"#);
        let object = pod(&format!(r#"{{"initContainers":[{sidecar}],"containers":[{{"name":"app"}}]}}"#));
        word(&decide(&rules(&rule("r", spec)), &object))
    };
    assert_eq!([with("Always"), with("Never")], ["unchanged", "conflict"]);
    // A rule may still replace the policy of the user's container.
    let spec =
        "containerPatches: [{select: {all: true}, replace: [imagePullPolicy], imagePullPolicy: Never}]";
    let object = pod(r#"{"containers":[{"name":"app","imagePullPolicy":"Always"}]}"#);
    assert_eq!(word(&decide(&rules(&rule("r", spec)), &object)), "applied");
}

/// The API server omits the empty map, so a further call found another container.
#[test]
fn a_map_without_entries_is_left_out() {
    let spec = "sidecars: [{name: s, image: i, resources: {requests: {cpu: 1}, limits: {cpu: {$cel: \"object.metadata.?labels[?'cpu']\"}}}}]";
    let made = result(&rules(&rule("r", spec)), &pod(r#"{"containers":[{"name":"app"}]}"#));
    assert_eq!(made["spec"]["initContainers"][0]["resources"], json!({"requests": {"cpu": "1"}}));
}

#[test]
fn an_entry_with_an_empty_text_is_not_the_same_as_none() {
    let spec = "volumes: [{name: v, csi: {driver: d, volumeAttributes: {a: ''}}}]";
    let with = |attributes: &str| {
        let volume = format!(r#"{{"name":"v","csi":{{"driver":"d","volumeAttributes":{attributes}}}}}"#);
        word(&decide(&rules(&rule("r", spec)), &pod(&format!(r#"{{"volumes":[{volume}]}}"#))))
    };
    assert_eq!([with(r#"{"b":"c"}"#), with(r#"{"a":"","b":"c"}"#)], ["conflict", "unchanged"]);
}

/// The outcome of a rule with `members` in a sidecar, on a pod whose sidecar has `stored`.
fn sidecar(members: &str, stored: &str) -> &'static str {
    let spec = format!("sidecars: [{{name: s, image: 'i:1', {members}}}]");
    let sidecar = format!(r#"{{"name":"s","image":"i:1","restartPolicy":"Always",{stored}}}"#);
    let object = pod(&format!(r#"{{"initContainers":[{sidecar}],"containers":[{{"name":"app"}}]}}"#));
    word(&decide(&rules(&rule("r", &spec)), &object))
}

/// A further call found the default of the API server in place of the zero or of the empty text, and a required rule denied the pod.
#[test]
fn a_value_that_the_api_server_replaces_by_its_default_is_not_a_conflict() {
    for (members, stored, expected) in [
        (
            "readinessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 0, periodSeconds: 0}",
            r#""readinessProbe":{"tcpSocket":{"port":80},"timeoutSeconds":1,"periodSeconds":10}"#,
            "unchanged",
        ),
        (
            "readinessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 0}",
            r#""readinessProbe":{"tcpSocket":{"port":80},"timeoutSeconds":2}"#,
            "conflict",
        ),
        (
            "livenessProbe: {httpGet: {port: 80, path: '', scheme: ''}}",
            r#""livenessProbe":{"httpGet":{"port":80,"path":"/","scheme":"HTTP"}}"#,
            "unchanged",
        ),
        (
            "ports: [{containerPort: 80, protocol: ''}]",
            r#""ports":[{"containerPort":80,"protocol":"TCP"}]"#,
            "unchanged",
        ),
        ("imagePullPolicy: ''", r#""imagePullPolicy":"IfNotPresent""#, "unchanged"),
        ("imagePullPolicy: ''", r#""imagePullPolicy":"Never""#, "conflict"),
    ] {
        assert_eq!(sidecar(members, stored), expected, "{members}");
    }
}

/// The API server rounds requests and limits up to thousandths.
#[test]
fn an_amount_that_the_api_server_rounds_up_is_not_a_conflict() {
    for (amount, stored, expected) in
        [("0.1m", "1m", "unchanged"), ("1500u", "2m", "unchanged"), ("1500u", "1m", "conflict")]
    {
        let stored = format!(r#""resources":{{"requests":{{"cpu":"{stored}"}}}}"#);
        assert_eq!(sidecar(&format!("resources: {{requests: {{cpu: {amount}}}}}"), &stored), expected);
    }
    // Both are one thousandth.
    let made = "resources: {requests: {cpu: 0.9m}, limits: {cpu: 0.1m}}";
    let spec = format!("sidecars: [{{name: s, image: i, {made}}}]");
    result(&rules(&rule("r", &spec)), &pod(r#"{"containers":[{"name":"app"}]}"#));
}

/// Each call added the value again, since the API server omits it. With `priorityClassName` it removed the pod's priority.
#[test]
fn a_value_that_means_absence_is_not_added() {
    for spec in [
        "pod: {spec: {hostNetwork: false, hostname: '', priorityClassName: ''}}",
        "onConflict: override\ncontainerPatches: [{select: {all: true}, tty: false, workingDir: ''}]",
    ] {
        let object = pod(r#"{"priority":0,"containers":[{"name":"app"}]}"#);
        assert_eq!(word(&decide(&rules(&rule("r", spec)), &object)), "unchanged", "{spec}");
    }
    let spec = "onConflict: override\npod: {spec: {hostNetwork: false}}";
    let object = pod(r#"{"hostNetwork":true,"containers":[{"name":"app"}]}"#);
    assert_eq!(result(&rules(&rule("r", spec)), &object)["spec"]["hostNetwork"], json!(false));
}

/// Each pod has `serviceAccountName` from the API server, which stores its value under both names: the rule had no effect.
#[test]
fn an_account_by_its_former_name_is_written_by_its_current_one() {
    let object =
        pod(r#"{"serviceAccountName":"default","serviceAccount":"default","containers":[{"name":"app"}]}"#);
    for spec in ["serviceAccount: builder", "serviceAccount: old, serviceAccountName: builder"] {
        let rules = rules(&rule("r", &format!("onConflict: override\npod: {{spec: {{{spec}}}}}")));
        assert_eq!(steps(&decide(&rules, &object)), [r#"replace /spec/serviceAccountName "builder""#]);
    }
}
