//! When the object has a value of a rule already, in the spelling of the rule or in another one.

use crate::kit::{decide, pod, result, rule, rules, steps, word};

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

#[test]
fn a_conflict_names_the_item_and_its_list() {
    let block =
        |items: &str| format!("containerPatches: [{{select: {{all: true}}, onConflict: skipRule, {items}}}]");
    let app = |members: &str| format!(r#"{{"containers":[{{"name":"app",{members}}}]}}"#);
    for (spec, object, sentence) in [
        (
            "sidecars: [{name: s, image: i, mode: regular}]".to_owned(),
            r#"{"containers":[{"name":"s","image":"theirs"}]}"#.to_owned(),
            "container `s` exists already and differs",
        ),
        (
            "initContainers: [{name: s, image: i}]".to_owned(),
            r#"{"initContainers":[{"name":"s","image":"theirs"}]}"#.to_owned(),
            "container `s` exists already and differs",
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
            "in `ports` exists already and differs",
        ),
    ] {
        let decision = decide(&rules(&rule("r", &spec)), &pod(&object));
        assert_eq!(word(&decision), "conflict", "{spec}");
        assert!(decision.warnings[0].contains(sentence), "{:?}", decision.warnings);
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

/// What stands behind the last colon of an image is its tag, unless a slash follows.
#[test]
fn the_port_of_a_registry_is_no_tag() {
    for (image, expected) in [
        ("registry:5000/app", "applied"),
        ("registry:5000/app:1", "applied"),
        ("registry:5000/other", "unchanged"),
        ("registry", "unchanged"),
    ] {
        let rules = rules(&rule(
            "r",
            "containerPatches: [{select: {images: ['registry:5000/app']}, env: [{name: A, value: b}]}]",
        ));
        let object = pod(&format!(r#"{{"containers":[{{"name":"app","image":"{image}"}}]}}"#));
        assert_eq!(word(&decide(&rules, &object)), expected, "{image}");
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

/// Privileges that an expression computes are checked in the container that the rule adds.
#[test]
fn computed_privileges_of_a_sidecar_are_checked() {
    let spec = |allowed: bool| {
        format!(
            "sidecars: [{{name: s, image: i, securityContext: {{privileged: {{$cel: \"object.metadata.name == 'web'\"}}, allowPrivilegeEscalation: {allowed}}}}}]"
        )
    };
    for (allowed, expected) in [(true, "applied"), (false, "error")] {
        assert_eq!(word(&decide(&rules(&rule("r", &spec(allowed))), &pod("{}"))), expected, "{allowed}");
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
