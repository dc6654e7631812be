//! When the object has a value of a rule already, in the spelling of the rule or in another one.

use crate::kit::{decide, pod, result, rule, rules, steps, word, words};

/// `onConflict: override` writes the value of the rule unless the object has the same.
#[test]
fn only_equal_values_stay() {
    let env = |value: &str| {
        format!(
            "containerPatches: [{{select: {{all: true}}, onConflict: override, env: [{{name: A, value: '{value}'}}]}}]"
        )
    };
    let app = |members: &str| pod(&format!(r#"{{"containers":[{{"name":"app",{members}}}]}}"#));
    let has = |value: &str| app(&format!(r#""env":[{{"name":"A","value":"{value}"}}]"#));
    let limit =
        "containerPatches: [{select: {all: true}, replace: [resources], resources: {limits: {cpu: '2'}}}]"
            .to_owned();
    let limited = |cpu: &str| app(&format!(r#""resources":{{"limits":{{"cpu":{cpu}}}}}"#));
    let label = "onConflict: override\npod: {labels: {l: '1'}}".to_owned();
    let labelled = |value: &str| pod("{}").replace(r#""app":"web""#, &format!(r#""app":"web","l":{value}"#));
    for (spec, object, expected) in [
        // Texts are equal as they are written, unless they are quantities or paths of mounts.
        (env("1"), has("1"), "unchanged"),
        (env("1"), has("1000m"), "applied"),
        (env("/a"), has("/a/"), "applied"),
        (limit.clone(), limited(r#""2""#), "unchanged"),
        (limit.clone(), limited(r#""2000m""#), "unchanged"),
        (limit.clone(), limited("2"), "unchanged"),
        (limit.clone(), limited(r#""3""#), "applied"),
        (limit, limited("3"), "applied"),
        (label.clone(), labelled(r#""1""#), "unchanged"),
        // A number is no text, even if it looks like one.
        (label, labelled("1"), "applied"),
    ] {
        let rules = rules(&rule("r", &spec));
        assert_eq!(word(&decide(&rules, &object)), expected, "{spec} {object}");
        result(&rules, &object);
    }
}

/// Kubernetes 1.36 drops the field unless a feature gate is on. The next call found another container, and a required rule denied the pod.
#[test]
fn a_container_without_a_field_that_the_api_server_drops_is_the_same() {
    let has = |lifecycle: &str| pod(&format!(r#"{{"containers":[{{"name":"s","image":"i"{lifecycle}}}]}}"#));
    let stop = "stopSignal: SIGUSR1";
    let hook = "stopSignal: SIGUSR1, preStop: {sleep: {seconds: 5}}";
    let sleep = r#""preStop":{"sleep":{"seconds":5}}"#;
    for (fields, lifecycle, expected) in [
        (stop, String::new(), "unchanged"),
        (stop, r#","lifecycle":{"stopSignal":"SIGTERM"}"#.to_owned(), "conflict"),
        (hook, format!(r#","lifecycle":{{{sleep}}}"#), "unchanged"),
        (hook, String::new(), "conflict"),
    ] {
        let sidecar = format!("sidecars: [{{name: s, image: i, mode: regular, lifecycle: {{{fields}}}}}]");
        let rules = rules(&rule("r", &sidecar));
        assert_eq!(word(&decide(&rules, &has(&lifecycle))), expected, "{fields} {lifecycle}");
    }
    // A label of this name is no such field.
    let constraint = |labels: &str| {
        format!(
            r#"{{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{{"matchLabels":{{"app":"web"{labels}}}}}}}"#
        )
    };
    let labelled = constraint(r#","lifecycle":"spot","stopSignal":"no""#);
    let rules = rules(&rule(
        "r",
        &format!("onConflict: override\npod: {{spec: {{topologySpreadConstraints: [{labelled}]}}}}"),
    ));
    let object = pod(&format!(
        r#"{{"topologySpreadConstraints":[{}],"containers":[{{"name":"app"}}]}}"#,
        constraint("")
    ));
    assert_eq!(word(&decide(&rules, &object)), "applied");
}

#[test]
fn a_conflict_names_the_item_and_its_list() {
    let block =
        |items: &str| format!("containerPatches: [{{select: {{all: true}}, onConflict: skipRule, {items}}}]");
    let app = |members: &str| format!(r#"{{"containers":[{{"name":"app",{members}}}]}}"#);
    for (spec, object, sentence) in [
        (
            "sidecars: [{name: s, image: i, mode: regular}]".to_owned(),
            r#"{"containers":[{"name":"s","image":"theirs"}]}"#.to_owned(),
            "container `s` exists already and differs in `image`",
        ),
        (
            "initContainers: [{name: s, image: i}]".to_owned(),
            r#"{"initContainers":[{"name":"s","image":"theirs"}]}"#.to_owned(),
            "container `s` exists already and differs in `image`",
        ),
        (
            block("env: [{name: A, value: b}]"),
            app(r#""env":[{"name":"A","value":"c"}]"#),
            "variable `A` has another value already",
        ),
        (
            "volumes: [{name: v, emptyDir: {}}]\n".to_owned()
                + &block("volumeMounts: [{name: v, mountPath: /v}]"),
            app(r#""volumeMounts":[{"name":"other","mountPath":"/v"}]"#),
            "something else is mounted at `/v` already",
        ),
        (
            block("ports: [{containerPort: 80, name: web}]"),
            app(r#""ports":[{"containerPort":80,"name":"other"}]"#),
            "in `ports` exists already and differs in `name`",
        ),
    ] {
        let decision = decide(&rules(&rule("r", &spec)), &pod(&object));
        assert_eq!(word(&decision), "conflict", "{spec}");
        assert!(decision.warnings[0].contains(sentence), "{:?}", decision.warnings);
    }
}

/// The documentation tells authors to keep a container whose image or resources other webhooks change.
#[test]
fn a_container_that_another_webhook_changes_conflicts_unless_it_is_kept() {
    let outcome = |on_conflict: &str, changed: &str| {
        let spec = format!(
            "required: true\nsidecars: [{{name: s, image: 'r/s:1', resources: {{requests: {{cpu: 10m}}}}{on_conflict}}}]"
        );
        let sidecar = format!(r#"{{"name":"s","restartPolicy":"Always",{changed}}}"#);
        word(&decide(
            &rules(&rule("r", &spec)),
            &pod(&format!(r#"{{"containers":[{{"name":"app"}}],"initContainers":[{sidecar}]}}"#)),
        ))
    };
    for changed in [
        r#""image":"mirror/r/s:1","resources":{"requests":{"cpu":"10m"}}"#,
        r#""image":"r/s:1","resources":{"requests":{"cpu":"25m"}}"#,
    ] {
        assert_eq!(outcome("", changed), "denied", "{changed}");
        assert_eq!(outcome(", onConflict: keep", changed), "unchanged", "{changed}");
    }
}

/// The second rule overrides a variable in one container, and another one in the other container.
#[test]
fn each_block_overrides_in_its_own_containers() {
    let env = |container: &str, name: &str, value: &str| {
        format!(
            "- {{select: {{names: [{container}]}}, onConflict: override, env: [{{name: {name}, value: {value}}}]}}\n"
        )
    };
    let first = format!("containerPatches:\n{}", env("two", "B", "first"));
    let second =
        format!("order: 1\ncontainerPatches:\n{}{}", env("one", "A", "second"), env("two", "B", "second"));
    let rules = rules(&(rule("a", &first) + &rule("b", &second)));
    let object = pod(
        r#"{"containers":[{"name":"one","env":[{"name":"A","value":"x"}]},{"name":"two","env":[{"name":"B","value":"x"}]}]}"#,
    );
    assert_eq!(
        steps(&decide(&rules, &object)).len(),
        2,
        "the first rule leaves the variable to the second one"
    );
    let made = result(&rules, &object);
    assert_eq!(made["spec"]["containers"][1]["env"][0]["value"], "second");
}

#[test]
fn the_origin_of_one_part_in_an_absent_map_is_the_part() {
    let origin = |selector: &str| {
        let rules = rules(&rule("r", &format!("pod: {{spec: {{nodeSelector: {{{selector}}}}}}}")));
        decide(&rules, &pod("{}")).changes()[0].origin.clause.to_string()
    };
    let (one, two) = (origin("disk: ssd"), origin("disk: ssd, zone: a"));
    assert!(one.contains("disk") && one.starts_with(&two), "{one} {two}");
    assert!(!two.contains("disk"), "{two}");
}

/// The tag of an image stands behind its last colon, unless a slash follows.
#[test]
fn the_port_of_a_registry_is_no_tag() {
    for (selected, image, expected) in [
        ("registry:5000/app", "registry:5000/app", "applied"),
        ("registry:5000/app", "registry:5000/app:1", "applied"),
        ("registry:5000/app", "registry:5000/other", "unchanged"),
        ("registry", "registry:5000/app", "unchanged"),
        ("registry", "registry:1", "applied"),
    ] {
        let rules = rules(&rule(
            "r",
            &format!(
                "containerPatches: [{{select: {{images: ['{selected}']}}, env: [{{name: A, value: b}}]}}]"
            ),
        ));
        let object = pod(&format!(r#"{{"containers":[{{"name":"app","image":"{image}"}}]}}"#));
        assert_eq!(word(&decide(&rules, &object)), expected, "{selected} {image}");
    }
}

/// A container of the same rule that the pod has already does not come before the new one.
#[test]
fn a_first_container_goes_before_a_later_one_of_its_rule() {
    let rules = rules(&rule(
        "r",
        "sidecars:\n- {name: a, image: i, mode: regular, position: {containers: first}}\n- {name: b, image: i, mode: regular, position: {containers: first}}",
    ));
    let made =
        result(&rules, &pod(r#"{"containers":[{"name":"b","image":"i"},{"name":"app","image":"i"}]}"#));
    assert_eq!(crate::kit::names(&made["spec"]["containers"]), ["a", "b", "app"]);
}

/// The mount of a sidecar names a volume that is neither in the pod nor in the rule.
#[test]
fn a_mount_is_not_satisfied_by_another_volume_of_the_rule() {
    let rules = rules(&rule(
        "r",
        "volumes: [{name: v, emptyDir: {}}]\nsidecars: [{name: s, image: i, volumeMounts: [{name: gone, mountPath: /v}]}]",
    ));
    let decision = decide(&rules, &pod("{}"));
    assert_eq!((word(&decision), decision.patch().len()), ("error", 0));
    assert!(decision.warnings[0].contains("a mount names volume `gone`"), "{:?}", decision.warnings);
}

/// The privileges of a sidecar are checked if the rule writes them.
#[test]
fn privileges_of_a_sidecar_are_checked() {
    let of = |context: &str| {
        rules(&rule("r", &format!("sidecars: [{{name: s, image: i, mode: regular{context}}}]")))
    };
    let privileged = |allowed: bool| {
        of(&format!(", securityContext: {{privileged: true, allowPrivilegeEscalation: {allowed}}}"))
    };
    assert_eq!(word(&decide(&privileged(true), &pod("{}"))), "applied");
    assert_eq!(word(&decide(&privileged(false), &pod("{}"))), "error");
    let there = pod(r#"{"containers":[{"name":"s","image":"i","securityContext":{"privileged":true}}]}"#);
    assert_eq!(word(&decide(&privileged(false), &there)), "conflict");
    assert_eq!(word(&decide(&of(""), &there)), "unchanged");
}

/// The second of the ports that one rule adds to a container is taken for another rule. With so many ports an index is kept.
#[test]
fn each_port_that_a_rule_adds_is_taken() {
    let ports: String = (1_000..1_010).map(|port| format!("{{containerPort: {port}}}, ")).collect();
    let block = rule("a", &format!("containerPatches: [{{select: {{all: true}}, ports: [{ports}]}}]"));
    let object = pod(r#"{"containers":[{"name":"app","image":"i"}]}"#);
    for (port, expected) in
        [(1_000, "conflict"), (1_001, "conflict"), (1_009, "conflict"), (1_010, "applied")]
    {
        let sidecar = format!(
            "order: 1\nsidecars: [{{name: s, image: i, mode: regular, ports: [{{containerPort: {port}}}]}}]"
        );
        let rules = rules(&(block.clone() + &rule("b", &sidecar)));
        assert_eq!(words(&decide(&rules, &object)), ["applied", expected], "{port}");
    }
}

/// An empty value means the same as none, but not where the variable has another source.
#[test]
fn a_source_of_a_value_is_no_empty_value() {
    let rules = rules(&rule(
        "r",
        "containerPatches: [{select: {all: true}, onConflict: override, env: [{name: A, value: ''}]}]",
    ));
    for (variable, expected) in [
        (r#"{"name":"A"}"#, "unchanged"),
        (r#"{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}"#, "applied"),
    ] {
        let object = pod(&format!(r#"{{"containers":[{{"name":"app","env":[{variable}]}}]}}"#));
        assert_eq!(word(&decide(&rules, &object)), expected, "{variable}");
    }
}

/// A name may be written with escapes, here with an even number of backslashes in the list.
#[test]
fn an_escaped_name_is_found() {
    let rules = rules(&rule("r", "containerPatches: [{select: {all: true}, env: [{name: A, value: B}]}]"));
    let object = pod(r#"{"containers":[{"name":"app","env":[{"name":"\u0041","value":"\u0042"}]}]}"#);
    assert_eq!(word(&decide(&rules, &object)), "unchanged");
}

/// A rule is in the status if the pod has one of its parts, or if it has changed the pod.
#[test]
fn the_status_lists_rules_with_parts_and_rules_that_removed() {
    let text = rule("added", "pod: {labels: {x: y}}")
        + &rule("there", "pod: {labels: {tier: web}}")
        + &rule("removed", "remove: [{labels: {key: gone}}]")
        + &rule("absent", "remove: [{labels: {key: nothing}}]");
    let object = pod("{}").replace(r#""app":"web""#, r#""app":"web","tier":"web","gone":"x""#);
    let made = result(&rules(&text), &object);
    let status = made["metadata"]["annotations"]["vestibule.dev/injected"].as_str().unwrap();
    for (name, listed) in [("added@", true), ("there@", true), ("removed@", true), ("absent@", false)] {
        assert_eq!(status.contains(name), listed, "{name} {status}");
    }
}

/// The status says only what the pod has: here the annotation names another container.
#[test]
fn the_status_lists_the_default_container_only_if_it_is_there() {
    let rules = rules(&rule(
        "r",
        "sidecars: [{name: s, image: i, mode: regular, position: {containers: first}}]\npod: {labels: {x: y}}",
    ));
    for (annotation, listed) in [("other", false), ("app", true)] {
        let object = pod(r#"{"containers":[{"name":"app","image":"i"}]}"#).replace(
            r#""labels""#,
            &format!(
                r#""annotations":{{"kubectl.kubernetes.io/default-container":"{annotation}"}},"labels""#
            ),
        );
        let made = result(&rules, &object);
        let status = made["metadata"]["annotations"]["vestibule.dev/injected"].as_str().unwrap();
        assert_eq!(status.contains("annotation:kubectl"), listed, "{status}");
    }
}

/// With many blocks, an index of the containers is kept. It has only the last container of a name.
#[test]
fn blocks_change_all_containers_of_one_name() {
    let block =
        |number: usize| format!("- {{select: {{all: true}}, env: [{{name: E{number}, value: x}}]}}\n");
    let spec = format!("containerPatches:\n{}", (0..10).map(block).collect::<String>());
    let object = pod(r#"{"containers":[{"name":"app"},{"name":"app"},{"name":"other"}]}"#);
    let made = result(&rules(&rule("r", &spec)), &object);
    for container in made["spec"]["containers"].as_array().unwrap() {
        assert_eq!(container["env"].as_array().unwrap().len(), 10, "{container}");
    }
}
