//! Regressions.

mod container_positions;
mod facts;
mod keys;
mod list_items;
mod ports;
mod types;

use cpu_time::ThreadTime;
use serde_json::json;

use crate::kit::{
    self, applied, creation, decide, evaluate, load, names, pod, result, rule, rules, steps, word, words,
};

const OVERRIDES: &str = "onConflict: override\npod: {labels: {l: one}}\ncontainerPatches:\n- select: {all: true}\n  env: [{name: X, value: one}]";

/// The codes of the findings for a rule with these lines.
fn codes(spec: &str) -> Vec<&'static str> {
    kit::codes(&rule("r", spec))
}

#[test]
fn no_rule_yields_to_a_rule_that_is_not_applied() {
    let web = pod(r#"{"containers":[{"name":"app"}]}"#);
    let late = OVERRIDES.replace("one", "two")
        + "\nsidecars: [{name: s, image: s, volumeMounts: [{name: gone, mountPath: /x}]}]";
    let both = rules(&(rule("a", OVERRIDES) + &rule("b", &late)));
    assert_eq!(words(&decide(&both, &web)), ["applied", "error"]);
    let result = result(&both, &web);
    assert_eq!(result["metadata"]["labels"]["l"], "one");
    assert_eq!(
        result["spec"]["containers"],
        json!([{"name": "app", "env": [{"name": "X", "value": "one"}]}])
    );
}

#[test]
fn a_name_that_clashes_does_not_hide_the_users_container_from_blocks() {
    let web = pod(r#"{"containers":[{"name":"envoy","image":"theirs"}]}"#);
    let both = rules(&(rule("a", OVERRIDES) + &rule("b", "sidecars: [{name: envoy, image: ours}]")));
    assert_eq!(words(&decide(&both, &web)), ["applied", "conflict"]);
    assert_eq!(result(&both, &web)["spec"]["containers"][0]["env"][0]["name"], "X");
}

#[test]
fn a_rule_can_mount_the_volume_of_a_later_rule() {
    let early = "sidecars: [{name: s, image: s, volumeMounts: [{name: v, mountPath: /x}]}]";
    let both = rules(&(rule("a", early) + &rule("b", "volumes: [{name: v, emptyDir: {}}]")));
    let web = pod(r#"{"containers":[{"name":"app"}]}"#);
    assert_eq!(words(&decide(&both, &web)), ["applied", "applied"]);
    result(&both, &web);
}

/// The first rule needs the second's volume, and then sets the label that the second must have: neither is applied.
#[test]
fn a_rule_that_a_later_rule_breaks_leaves_no_change() {
    let first = "onConflict: override\ninitContainers: [{name: i, image: i, volumeMounts: [{name: v, mountPath: /v}]}]\npod: {labels: {l: one}}";
    let second = "onConflict: skipRule\nvolumes: [{name: v, emptyDir: {}}]\npod: {labels: {l: two}}";
    let both = rules(&(rule("a", first) + &rule("b", second) + &rule("c", "pod: {labels: {n: m}}")));
    let web = pod(r#"{"containers":[{"name":"app"}]}"#);
    assert_eq!(words(&decide(&both, &web)), ["error", "conflict", "applied"]);
    let result = result(&both, &web);
    assert_eq!(result["metadata"]["labels"], json!({"app": "web", "n": "m"}));
    assert!(result["spec"].get("volumes").is_none() && result["spec"].get("initContainers").is_none());
}

#[test]
fn fields_without_effect_are_refused() {
    assert_eq!(codes("volumes: [{name: v, emptyDir: {}, mode: native, position: {x: 1}}]"), ["VST0110"; 2]);
    let env = "containerPatches:\n- select: {all: true}\n  env: [{name: X, value: y, mode: native}]";
    assert_eq!(codes(env), ["VST0110"]);
}

#[test]
fn names_of_others_cannot_forge_lines() {
    let forged = r#"{"metadata":{"labels":{"app":"web"},"annotations":{"vestibule.dev/inject":"a\n\u001b[2J\u202e"}},"spec":{"os":{"name":"x\n\u001b["},"containers":[{"name":"a\u001b\np","ports":[{"containerPort":80}]}],"volumes":[{"name":"v","\u0007":{}}]}}"#;
    let rules = rules(
        &(rule("opt", "pod: {labels: {l: m}}")
            + &rule("port", "sidecars: [{name: s, image: i, ports: [{containerPort: 80}]}]")
            + &rule("volume", "volumes: [{name: v, emptyDir: {}}]")),
    );
    for object in [
        forged.to_owned(),
        forged.replace("vestibule.dev/inject", "x"),
        forged.replace("vestibule.dev/inject", "x").replace("\"os\"", "\"y\""),
    ] {
        let decision = decide(&rules, &object);
        let sentence = |verdict: &vestibule_rules::Verdict| match &verdict.outcome {
            vestibule_rules::Outcome::Skipped { sentence, .. } => sentence.to_string(),
            _ => String::new(),
        };
        let said: Vec<String> =
            decision.verdicts.iter().map(sentence).chain(decision.warnings.clone()).collect();
        assert!(said.iter().any(|said| !said.is_empty()));
        assert!(!said.concat().contains(|c: char| c.is_control() || c == '\u{202e}'), "{said:?}");
    }
    let finding = load(&rule("r", "\"\\e[2J\\n\": 1")).err().unwrap().remove(0);
    assert!(!finding.headline().contains(char::is_control), "{}", finding.headline());
}

#[test]
fn an_omitted_default_is_not_a_conflict() {
    let spec = "containerPatches:\n- select: {all: true}\n  onConflict: deny\n  ports: [{containerPort: 80, protocol: TCP}]";
    let web = pod(r#"{"containers":[{"name":"app","ports":[{"containerPort":80}]}]}"#);
    assert_eq!(word(&decide(&rules(&rule("r", spec)), &web)), "unchanged");
}

#[test]
fn lists_of_another_type_are_an_error_of_the_rule() {
    let spec = "volumes: [{name: v, emptyDir: {}}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: X, value: y}]";
    for (odd, expected) in [
        (r#"{"containers":{"name":"app"}}"#, "invalid_object"),
        (r#"{"volumes":{}}"#, "invalid_object"),
        (r#"{"volumes":"x"}"#, "invalid_object"),
        ("[]", "invalid_object"),
        (r#"{"containers":[{"name":"app","env":{}}]}"#, "error"),
    ] {
        let decision = decide(&rules(&rule("r", spec)), &pod(odd));
        assert_eq!((word(&decision), steps(&decision).len()), (expected, 0), "{odd}");
    }
}

#[test]
fn rules_cannot_write_labels_that_exclude_pods() {
    assert_eq!(codes("pod: {labels: {vestibule.dev/injector: \"true\"}}"), ["VST0123"]);
    assert_eq!(codes("pod: {annotations: {kubernetes.io/config.mirror: x}}"), ["VST0123"]);
}

#[test]
fn a_disagreement_is_one_warning() {
    let web = r#"{"metadata":{"labels":{"app":"web","vestibule.dev/inject":"true"},"annotations":{"vestibule.dev/inject":"false"}}}"#;
    let both = rules(&(rule("a", "pod: {labels: {l: m}}") + &rule("b", "pod: {labels: {n: o}}")));
    assert_eq!(decide(&both, web).warnings.len(), 1);
}

#[test]
fn ports_within_one_rule_and_of_blocks_conflict_too() {
    let two = "sidecars: [{name: s, image: i, ports: [{containerPort: 80}]}, {name: t, image: i, mode: regular, ports: [{containerPort: 80, protocol: TCP}]}]";
    assert_eq!(codes(two), ["VST0116"]);
    let ended = "sidecars: [{name: s, image: i, ports: [{containerPort: 80}]}]\ninitContainers: [{name: t, image: i, ports: [{containerPort: 80}], \
                 restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}]";
    assert_eq!(codes(ended), [""; 0], "an init container that ends frees its port");
    let block =
        "containerPatches:\n- select: {names: [two]}\n  ports: [{containerPort: 80}, {containerPort: 81}]";
    let web = pod(r#"{"containers":[{"name":"app","ports":[{"containerPort":80}]},{"name":"two"}]}"#);
    let decision = decide(&rules(&rule("r", block)), &web);
    assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("conflict", 0, 1));
    assert!(decision.warnings[0].contains("port 80/TCP"), "{:?}", decision.warnings);
    for more in ["onConflict: deny", "required: true"] {
        assert_eq!(word(&decide(&rules(&rule("r", &format!("{more}\n{block}"))), &web)), "denied", "{more}");
    }
    let kept = result(&rules(&rule("r", &format!("onConflict: keep\n{block}"))), &web);
    assert_eq!(kept["spec"]["containers"][1]["ports"], json!([{"containerPort": 81}]));
}

#[test]
fn a_port_name_or_host_port_in_use_is_a_conflict_too() {
    let block = "required: true\ncontainerPatches:\n- select: {names: [app]}\n  ports: [{containerPort: 80, hostPort: 8080, name: web}]";
    let rules = rules(&rule("r", block));
    let with = |ports: &str| {
        word(&decide(
            &rules,
            &pod(&format!(r#"{{"containers":[{{"name":"app"}},{{"name":"two","ports":[{ports}]}}]}}"#)),
        ))
    };
    assert_eq!(with(r#"{"containerPort":81,"name":"web"}"#), "denied");
    assert_eq!(with(r#"{"containerPort":81,"hostPort":8080}"#), "denied");
    assert_eq!(with(r#"{"containerPort":81,"hostPort":8081,"name":"other"}"#), "applied");
    // A port of the container itself is kept.
    let own = pod(r#"{"containers":[{"name":"app","ports":[{"containerPort":80,"name":"mine"}]}]}"#);
    assert_eq!(word(&decide(&rules, &own)), "unchanged");
}

#[test]
fn values_of_invalid_pods_are_refused_at_load() {
    assert_eq!(codes("sidecars: [{name: s, image: [i], workingDir: {}}]"), ["VST0111"; 2]);
    assert_eq!(codes("volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]"), ["VST0113"]);
    let sources = "[{secret: {name: a}, serviceAccountToken: {path: t}}]";
    assert_eq!(codes(&format!("volumes: [{{name: v, projected: {{sources: {sources}}}}}]")), ["VST0113"]);
    assert_eq!(
        codes("sidecars: [{name: s, image: i, envFrom: [{prefix: a=b, secretRef: {name: a}}]}]"),
        ["VST0113"]
    );
    assert_eq!(codes("volumes: [{name: v, emptyDir: {sizeLimit: 1GiB}}]"), ["VST0113"]);
    assert!(load(&rule("r", "volumes: [{name: v, image: {reference: \"x:1\"}}]")).is_ok());
}

#[test]
fn an_empty_list_that_selects_containers_is_refused() {
    for selected in ["names: []", "images: []"] {
        let spec = format!("containerPatches:\n- select: {{{selected}}}\n  env: [{{name: A, value: b}}]");
        assert_eq!(codes(&spec), ["VST0113"], "{selected}");
    }
    assert_eq!(codes("remove: [{env: {containers: [], name: A}}]"), ["VST0113"]);
}

#[test]
fn one_mistake_is_one_finding() {
    let spec = "containerPatches:\n- select: {all: true}\n  env: [TARGET, null]";
    assert_eq!(codes(spec), ["VST0111", "VST0117"]);
}

#[test]
fn the_default_container_that_a_rule_sets_is_kept() {
    let spec = "pod: {annotations: {kubectl.kubernetes.io/default-container: s}}\nsidecars: [{name: s, image: i, mode: regular, position: {containers: first}}]";
    let result = result(&rules(&rule("r", spec)), &pod(r#"{"containers":[{"name":"app"}]}"#));
    assert_eq!(result["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"], "s");
}

#[test]
fn unknown_namespaces_do_not_deny_pods_that_no_rule_matches() {
    let rules = rules(&rule("r", "required: true\noptIn: namespace\npod: {labels: {l: m}}"));
    let other = pod("{}").replace("\"app\"", "\"other\"");
    assert_eq!(word(&evaluate(&rules, &creation(&other))), "labels_not_matched");
    assert_eq!(word(&evaluate(&rules, &creation(&pod("{}")))), "denied");
}

/// Each text took ten seconds or gigabytes: a copy of the line for each finding, copies of long texts, nested anchors.
#[test]
fn hostile_documents_end_quickly() {
    let read = |text: &str| vestibule_rules::yaml::read("hostile", text);
    let work = ThreadTime::now();
    assert_eq!(read(&"x: 1\n".repeat(20_000)).err().unwrap().len(), 201);
    assert_eq!(read(&"a: [\n---\n".repeat(10_000)).err().unwrap().len(), 201);
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a,".repeat(20_000));
    assert_eq!(read(&long).err().unwrap()[0].code().id, "VST0104");
    let anchors = format!("{}{}{}", "&a [".repeat(100), "1,".repeat(20_000), "]".repeat(100));
    assert_eq!(read(&anchors).err().unwrap()[0].code().id, "VST0104");
    assert!(work.elapsed() < std::time::Duration::from_secs(5), "{:?}", work.elapsed());
}

#[test]
fn an_unrendered_template_is_reported_as_such() {
    let text = "kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n";
    let problems = vestibule_rules::yaml::read("pod.yaml", text).err().unwrap();
    assert!(problems[0].help().is_some_and(|help| help.contains("helm template")), "{}", problems[0]);
}

/// The first rule adds a sidecar if a label is absent that the second sets, and the second has the position `first`.
#[test]
fn positions_ignore_a_rule_that_made_its_condition_false() {
    let first = "sidecars: [{name: a, image: i, mode: native}]\nmatchConditions: [{name: c0, expression: '!has(object.metadata.labels.l)'}]";
    let second = "initContainers: [{name: b, image: i, position: {initContainers: first, strict: true}}]\n\
                  pod: {labels: {l: m}}";
    let both = rules(&(rule("one", first) + &rule("two", second)));
    let web = pod(r#"{"containers":[{"name":"app","image":"i"}],"initContainers":[]}"#);
    applied(&both, &creation(&web));
    assert_eq!(names(&result(&both, &web)["spec"]["initContainers"]), ["b", "a"]);
}

/// The second rule injects a container of the name that the first refers to, and its condition is false for this pod.
#[test]
fn an_absent_rule_does_not_make_others_fail() {
    let first =
        "containerPatches: [{select: {index: 0}, onConflict: skipRule, env: [{name: A, value: ours}]}]";
    for absent in [
        "matchConditions: [{name: c0, expression: 'false'}]",
        "matchConditions: [{name: c0, expression: 'object.spec.gone'}]",
    ] {
        let second = format!("{absent}\ninitContainers: [{{name: zero, image: i}}]");
        let both = rules(&(rule("one", first) + &rule("two", &second)));
        let web = pod(
            r#"{"containers":[{"name":"zero","image":"i"},{"name":"app","env":[{"name":"A","value":"theirs"}]}]}"#,
        );
        let made = result(&both, &web);
        assert_eq!(made["spec"]["containers"][0]["env"], json!([{"name": "A", "value": "ours"}]), "{absent}");
    }
}

/// The second rule makes its own condition false. The third one depended on the first, which is never applied.
#[test]
fn a_rule_that_made_its_condition_false_keeps_its_rank() {
    let first = "order: -1\nonConflict: skipRule\nsidecars: [{name: e, image: ours, mode: regular}]";
    let second = "order: -1\nonConflict: keep\nsidecars: [{name: c, image: i}]\npod: {labels: {l: m}}\n\
                  matchConditions: [{name: c0, expression: '!has(object.metadata.labels.l)'}]";
    let third =
        "onConflict: skipRule\ncontainerPatches: [{select: {index: 0}, env: [{name: A, value: ours}]}]";
    let web = pod(r#"{"containers":[{"name":"c"},{"name":"e","env":[{"name":"A","value":"theirs"}]}]}"#);
    let (second, third) = (rule("b", second), rule("c", third));
    let (all, two) = (rules(&(rule("a", first) + &second + &third)), rules(&(second + &third)));
    assert_eq!(words(&decide(&all, &web)), ["conflict", "applied", "applied"]);
    assert_eq!(words(&decide(&two, &web)), ["applied", "applied"]);
    assert_eq!(result(&all, &web)["spec"], result(&two, &web)["spec"]);
}

/// The condition of the first rule is false, and the pod has a container of the name that it injects. The second passed that over,
/// failed for another reason, and was excluded together with the first: a pod was admitted that the second denies.
#[test]
fn a_failing_rule_does_not_make_others_fail() {
    let first = "initContainers: [{name: app, image: i}]";
    let second = "onConflict: keep\n\
                  containerPatches: [{select: {all: true}, onConflict: deny, env: [{name: E, value: ours}]}]\n\
                  initContainers: [{name: b, image: i, volumeMounts: [{name: gone, mountPath: /x}]}]";
    let web = pod(r#"{"containers":[{"name":"app","env":[{"name":"E","value":"theirs"}]}]}"#);
    let both = decide(&rules(&(rule("a", first) + &rule("b", second))), &web);
    let alone = decide(&rules(&rule("b", second)), &web);
    assert_eq!((words(&both), words(&alone)), (vec!["conflict", "denied"], vec!["denied"]));
}

/// A label had the name of the first container, and got the restored one only in the second evaluation.
#[test]
fn expressions_read_restored_positions() {
    let spec = "onConflict: override\n\
                sidecars: [{name: b, image: i, mode: regular, position: {containers: first, strict: true}}]\n\
                pod: {labels: {l: {$cel: 'labelValue(object.spec.containers[0].name)'}}}";
    let loaded = rules(&rule("r", spec));
    let web =
        pod(r#"{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}],"initContainers":[]}"#);
    applied(&loaded, &creation(&web));
    let made = result(&loaded, &web);
    assert_eq!(names(&made["spec"]["containers"]), ["b", "a"]);
    assert_eq!(made["metadata"]["labels"]["l"], "b");
}

/// The second rule makes the condition of the first false, whose container is at another position already.
#[test]
fn positions_are_not_restored_for_a_rule_that_is_not_applied() {
    let first = "matchConditions: [{name: c0, expression: '!has(object.metadata.labels.l)'}]\n\
                 sidecars: [{name: b, image: i, mode: regular, position: {containers: first, strict: true}}]";
    let both = rules(&(rule("a", first) + &rule("b", "pod: {labels: {l: m}}")));
    let web =
        pod(r#"{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}],"initContainers":[]}"#);
    assert_eq!(words(&decide(&both, &web)), ["match_condition_false", "applied"]);
    assert_eq!(names(&result(&both, &web)["spec"]["containers"]), ["a", "b"]);
}

/// The API server refuses a file beside another type than `Localhost`.
#[test]
fn a_profile_is_one_value() {
    let profile = |on_conflict: &str, wanted: &str, found: &str| {
        let spec = format!(
            "{on_conflict}pod: {{spec: {{securityContext: {{seccompProfile: {wanted}}}}}}}\ncontainerPatches: [{{select: {{all: true}}, securityContext: {{appArmorProfile: {wanted}}}}}]"
        );
        let pod = pod(&format!(
            r#"{{"securityContext":{{"seccompProfile":{found}}},"containers":[{{"name":"app","securityContext":{{"appArmorProfile":{found}}}}}]}}"#
        ));
        let result = result(&rules(&rule("r", &spec)), &pod);
        let (of_pod, of_container) = (
            result["spec"]["securityContext"]["seccompProfile"].clone(),
            result["spec"]["containers"][0]["securityContext"]["appArmorProfile"].clone(),
        );
        assert_eq!(of_pod, of_container);
        of_pod
    };
    let (localhost, default) =
        (r#"{"type":"Localhost","localhostProfile":"a.json"}"#, r#"{"type":"RuntimeDefault"}"#);
    let as_value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for (wanted, found) in [(localhost, default), (default, localhost)] {
        assert_eq!(profile("", wanted, found), as_value(found));
        assert_eq!(profile("onConflict: override\n", wanted, found), as_value(wanted));
    }
}

/// The API server refused the pods: a claim with two sources, and the divisor of one resource with another one.
#[test]
fn an_override_leaves_nothing_of_the_other_source() {
    let result = |lines: &str, spec: &str| {
        let rules = rules(&rule("r", &format!("onConflict: override\n{lines}")));
        result(&rules, &pod(spec))["spec"].take()
    };
    let claim = result(
        "pod: {spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]}}",
        r#"{"containers":[{"name":"app"}],"resourceClaims":[{"name":"gpu","resourceClaimName":"c"}]}"#,
    );
    assert_eq!(claim["resourceClaims"], json!([{"name": "gpu", "resourceClaimTemplateName": "t"}]));
    let variable = result(
        "containerPatches: [{select: {all: true}, env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]",
        r#"{"containers":[{"name":"app","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Mi"}}}]}]}"#,
    );
    let source = &variable["containers"][0]["env"][0]["valueFrom"]["resourceFieldRef"];
    assert_eq!(*source, json!({"resource": "limits.cpu"}));
}
