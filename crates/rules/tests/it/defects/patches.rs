//! Values that a patch lost or duplicated.

use serde_json::{Value, json};

use crate::kit::{applied, creation, decide, load, names, pod, result, rule, rules, steps, word, words};

/// Sidecars were parsed into types without `volumeMounts`, `imagePullPolicy` and `configMap`.
#[test]
fn d01_nothing_that_a_rule_says_is_dropped() {
    let spec = "sidecars: [{name: nginx, image: nginx, imagePullPolicy: IfNotPresent, volumeMounts: [{name: conf, mountPath: /etc/nginx}]}]\nvolumes: [{name: conf, configMap: {name: ours}}]";
    let result = result(&rules(&rule("r", spec)), &pod(r#"{"containers":[{"name":"app"}]}"#));
    let nginx = &result["spec"]["initContainers"][0];
    assert_eq!(nginx["imagePullPolicy"], "IfNotPresent");
    assert_eq!(nginx["volumeMounts"], json!([{"name": "conf", "mountPath": "/etc/nginx"}]));
    assert_eq!(result["spec"]["volumes"], json!([{"name": "conf", "configMap": {"name": "ours"}}]));
}

/// Annotations of the user were replaced by the injector's own.
#[test]
fn d02_annotations_of_the_user_stay() {
    let pod = r#"{"metadata":{"labels":{"app":"web"},"annotations":{"a/b":"x","e":"3"}},"spec":{}}"#;
    // An unescaped key with a slash gave a pointer to another place.
    let rules = rules(&rule("r", "onConflict: override\npod: {annotations: {a/b: \"1\"}}"));
    assert_eq!(steps(&decide(&rules, pod))[0], r#"replace /metadata/annotations/a~1b "1""#);
    let annotations = &result(&rules, pod)["metadata"]["annotations"];
    assert_eq!((&annotations["a/b"], &annotations["e"]), (&json!("1"), &json!("3")));
}

/// An existing variable was overwritten in a copy only, and the log reported success.
#[test]
fn d04_what_is_said_to_be_overwritten_is() {
    let spec = "containerPatches:\n- select: {all: true}\n  onConflict: override\n  env: [{name: TARGET, value: ours}]";
    let rules = rules(&rule("r", spec));
    let theirs = pod(r#"{"containers":[{"name":"app","env":[{"name":"TARGET","value":"x"}]}]}"#);
    assert_eq!(word(&decide(&rules, &theirs)), "applied");
    assert_eq!(result(&rules, &theirs)["spec"]["containers"][0]["env"][0]["value"], "ours");
    // A pod that no rule matches gets no patch, not an empty one with a type.
    let other = theirs.replace(r#""app":"web""#, r#""app":"other""#);
    assert!(decide(&rules, &other).patch().is_empty());
}

/// Each of several sidecars found the list absent, and the second `add` replaced the first; maps that were null came back.
#[test]
fn d05_several_sidecars_make_one_list() {
    let text = rule(
        "r",
        "sidecars: [{name: a, image: a}, {name: b, image: b}]\nvolumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}]",
    ) + &rule(
        "s",
        "sidecars: [{name: c, image: c}]\nvolumes: [{name: x, emptyDir: {}}]\npod: {labels: {l: m}}",
    );
    let rules = rules(&text);
    let pod = r#"{"metadata":{"labels":{"app":"web"},"annotations":null},"spec":{"containers":[]}}"#;
    let decision = decide(&rules, pod);
    let origins: Vec<&str> = decision.changes().iter().map(|change| &*change.origin.clause).collect();
    assert_eq!(origins[..5], ["volumes", "sidecars", "pod.labels[l]", "volumes[0]", "sidecars[0]"]);
    assert!(!steps(&decision).iter().any(|step| step.contains("null")), "{:?}", steps(&decision));
    let result = result(&rules, pod);
    assert_eq!(names(&result["spec"]["initContainers"]), ["a", "b", "c"]);
    assert_eq!(names(&result["spec"]["volumes"]), ["v", "w", "x"]);
}

/// Several matching rules all acted as the last one; a rule that failed erased the container's variables.
#[test]
fn d06_each_of_several_rules_does_its_own() {
    let block = |name: &str, more: &str| {
        rule(
            name,
            &format!(
                "containerPatches:\n- select: {{all: true}}\n  env: [{{name: {}, value: {name}}}{more}]",
                name.to_uppercase()
            ),
        )
    };
    let clash = rule(
        "c",
        "onConflict: skipRule\ncontainerPatches:\n- select: {all: true}\n  env: [{name: C, value: c}, {name: THEIRS, value: c}]",
    );
    let rules = rules(&(block("a", "") + &block("b", "") + &clash));
    let web = pod(r#"{"containers":[{"name":"one","env":[{"name":"THEIRS","value":"1"}]},{"name":"two"}]}"#);
    assert_eq!(words(&decide(&rules, &web)), ["applied", "applied", "conflict"]);
    let result = result(&rules, &web);
    let variables = |index: usize| {
        let mut names: Vec<&str> = names(&result["spec"]["containers"][index]["env"]);
        names.sort_unstable();
        names
    };
    assert_eq!(variables(0), ["A", "B", "THEIRS"]);
    assert_eq!(variables(1), ["A", "B"]);
}

/// Several operations each tested the length that the list had before the first.
#[test]
fn d07_several_rules_add_to_a_list_that_the_first_makes() {
    let volume = |name: &str| rule(name, &format!("volumes: [{{name: {name}, emptyDir: {{}}}}]"));
    let rules = rules(&(volume("a") + &volume("b") + &volume("c")));
    for volumes in ["", r#","volumes":null"#, r#","volumes":[]"#] {
        let pod = pod(&format!(r#"{{"containers":[{{"name":"app"}}]{volumes}}}"#));
        assert_eq!(names(&result(&rules, &pod)["spec"]["volumes"]), ["a", "b", "c"]);
    }
}

/// `/spec/volumes/-` was used for an absent list, and mounts were compared by volume instead of path.
#[test]
fn d09_lists_are_made_where_they_are_missing() {
    let text = rule(
        "r",
        "volumes: [{name: v, emptyDir: {}}]\ncontainerPatches:\n- select: {all: true}\n  volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]",
    );
    let rules = rules(&text);
    for volumes in ["", r#","volumes":null"#, r#","volumes":[]"#] {
        let pod = pod(&format!(r#"{{"containers":[{{"name":"app","volumeMounts":null}}]{volumes}}}"#));
        let result = result(&rules, &pod);
        assert_eq!(result["spec"]["volumes"].as_array().unwrap().len(), 1);
        assert_eq!(result["spec"]["containers"][0]["volumeMounts"].as_array().unwrap().len(), 2);
    }
    // An absent field is added; a replace operation would fail.
    let host = crate::kit::rules(&rule("r", "pod: {spec: {hostNetwork: true}}"));
    assert_eq!(steps(&decide(&host, &pod("{}")))[0], "add /spec/hostNetwork true");
}

/// The whole list `/spec/containers` was replaced, by another value at each call.
#[test]
fn d12_a_patch_touches_what_it_adds_and_is_the_same_each_time() {
    let spec = "sidecars: [{name: s, image: s, mode: regular}]\nvolumes: [{name: v, emptyDir: {}}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: A, value: b}]\n  volumeMounts: [{name: v, mountPath: /v}]";
    let text = rule("r", spec);
    let web =
        pod(r#"{"containers":[{"name":"app","image":"app","env":[{"name":"Z","value":"z"}]}],"volumes":[]}"#);
    let first = steps(&decide(&rules(&text), &web));
    let whole = ["/spec ", "/spec/containers ", "/spec/containers/0 ", "/spec/containers/0/env "];
    assert!(!first.iter().any(|step| whole.iter().any(|path| step.contains(path))), "{first:?}");
    assert_eq!(steps(&decide(&rules(&text), &web)), first);
}

/// An empty list in the configuration deleted the user's list.
#[test]
fn d14_an_empty_list_deletes_nothing() {
    let spec = "initContainers: []\nsidecars: []\nvolumes: []\ncontainerPatches:\n- select: {all: true}\n  env: []\npod: {labels: {l: m}}";
    let web = pod(
        r#"{"containers":[{"name":"app","env":[{"name":"A","value":"b"}]}],"initContainers":[{"name":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}"#,
    );
    let before: Value = serde_json::from_str(&web).unwrap();
    let rules = rules(&rule("r", spec));
    assert_eq!(word(&decide(&rules, &web)), "applied");
    assert_eq!(result(&rules, &web)["spec"], before["spec"]);
}

/// A volume ended up with two sources.
#[test]
fn d15_a_volume_has_one_source() {
    let spec = "onConflict: override\nvolumes: [{name: v, csi: {driver: csi.example.com, readOnly: true}}]";
    let web = pod(r#"{"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]}"#);
    let volumes = &result(&rules(&rule("r", spec)), &web)["spec"]["volumes"];
    assert_eq!(*volumes, json!([{"name": "v", "csi": {"driver": "csi.example.com", "readOnly": true}}]));
    let keep = rules(&rule("r", &spec.replace("override", "skipRule")));
    assert_eq!(word(&decide(&keep, &web)), "conflict");
    let doubled = load(&rule("r", "volumes: [{name: v, emptyDir: {}, csi: {driver: d}}]"));
    assert_eq!(doubled.err().unwrap()[0].code().id, "VST0113");
}

/// Image pull secrets were replaced, and ports with different protocols were taken for one.
#[test]
fn d18_pull_secrets_stay_and_ports_are_not_collapsed() {
    let secrets = rules(&rule("r", "imagePullSecrets: [{name: ours}]"));
    let theirs = result(&secrets, &pod(r#"{"imagePullSecrets":[{"name":"theirs"}]}"#));
    assert_eq!(names(&theirs["spec"]["imagePullSecrets"]), ["theirs", "ours"]);

    let spec = "sidecars: [{name: s, image: s, ports: [{containerPort: 8301}, {containerPort: 8301, protocol: UDP}]}]";
    let rules = rules(&rule("r", spec));
    let made = applied(&rules, &creation(&pod(r#"{"containers":[{"name":"app"}]}"#)));
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["spec"]["initContainers"][0]["ports"].as_array().unwrap().len(), 2);
}
