//! What was wrong once.

mod facts;
mod keys;
mod places;
mod types;

use cpu_time::ThreadTime;
use serde_json::json;

use crate::kit::{
    applied, creation, decide, evaluate, load, names, pod, result, rule, rules, steps, word, words,
};

const OVERRIDES: &str = "onConflict: override\npod: {labels: {l: one}}\ncontainers:\n- select: {all: true}\n  env: [{name: X, value: one}]";

/// The codes of what is wrong with a rule of these lines.
fn codes(spec: &str) -> Vec<&'static str> {
    let findings = load(&rule("r", spec)).err().unwrap();
    findings.iter().map(|finding| finding.code().id).collect()
}

#[test]
fn nobody_yields_to_a_rule_that_is_left_out() {
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
fn a_rule_that_needs_a_later_ones_volume_gets_it() {
    let early = "sidecars: [{name: s, image: s, volumeMounts: [{name: v, mountPath: /x}]}]";
    let both = rules(&(rule("a", early) + &rule("b", "volumes: [{name: v, emptyDir: {}}]")));
    let web = pod(r#"{"containers":[{"name":"app"}]}"#);
    assert_eq!(words(&decide(&both, &web)), ["applied", "applied"]);
    result(&both, &web);
}

/// The first needs the second's volume, and then takes the label that the second must have: neither can be had.
#[test]
fn a_rule_that_another_undoes_leaves_nothing() {
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
fn words_of_the_format_are_not_swallowed_where_they_do_nothing() {
    assert_eq!(codes("volumes: [{name: v, emptyDir: {}, mode: native, position: {x: 1}}]"), ["VST0110"; 2]);
    let env = "containers:\n- select: {all: true}\n  env: [{name: X, value: y, mode: native}]";
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
fn a_default_that_is_left_out_is_no_conflict() {
    let spec = "containers:\n- select: {all: true}\n  onConflict: deny\n  ports: [{containerPort: 80, protocol: TCP}]";
    let web = pod(r#"{"containers":[{"name":"app","ports":[{"containerPort":80}]}]}"#);
    assert_eq!(word(&decide(&rules(&rule("r", spec)), &web)), "unchanged");
}

#[test]
fn lists_that_are_none_are_the_rules_error() {
    let spec = "volumes: [{name: v, emptyDir: {}}]\ncontainers:\n- select: {all: true}\n  env: [{name: X, value: y}]";
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
fn what_excludes_pods_cannot_be_written() {
    assert_eq!(codes("pod: {labels: {vestibule.dev/injector: \"true\"}}"), ["VST0123"]);
    assert_eq!(codes("pod: {annotations: {kubernetes.io/config.mirror: x}}"), ["VST0123"]);
}

#[test]
fn a_disagreement_is_told_once() {
    let web = r#"{"metadata":{"labels":{"app":"web","vestibule.dev/inject":"true"},"annotations":{"vestibule.dev/inject":"false"}}}"#;
    let both = rules(&(rule("a", "pod: {labels: {l: m}}") + &rule("b", "pod: {labels: {n: o}}")));
    assert_eq!(decide(&both, web).warnings.len(), 1);
}

#[test]
fn ports_of_one_rule_and_of_blocks_clash_too() {
    let two = "sidecars: [{name: s, image: i, ports: [{containerPort: 80}]}, {name: t, image: i, mode: regular, ports: [{containerPort: 80, protocol: TCP}]}]";
    assert_eq!(codes(two), ["VST0116"]);
    let block = "containers:\n- select: {names: [two]}\n  ports: [{containerPort: 80}, {containerPort: 81}]";
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
fn a_port_name_or_host_port_that_is_taken_is_a_clash_too() {
    let block = "required: true\ncontainers:\n- select: {names: [app]}\n  ports: [{containerPort: 80, hostPort: 8080, name: web}]";
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
    // What the container itself has under the key is kept.
    let own = pod(r#"{"containers":[{"name":"app","ports":[{"containerPort":80,"name":"mine"}]}]}"#);
    assert_eq!(word(&decide(&rules, &own)), "unchanged");
}

#[test]
fn values_that_make_no_pod_are_refused_at_load() {
    assert_eq!(codes("sidecars: [{name: s, image: [i], workingDir: {}}]"), ["VST0111"; 2]);
    assert_eq!(codes("volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]"), ["VST0113"]);
    assert_eq!(codes("volumes: [{name: v, emptyDir: {sizeLimit: 1GiB}}]"), ["VST0113"]);
    assert!(load(&rule("r", "volumes: [{name: v, image: {reference: \"x:1\"}}]")).is_ok());
}

#[test]
fn one_mistake_is_one_finding() {
    let spec = "containers:\n- select: {all: true}\n  env: [TARGET, null]";
    assert_eq!(codes(spec), ["VST0111", "VST0117"]);
}

#[test]
fn a_rules_own_default_container_stands() {
    let spec = "pod: {annotations: {kubectl.kubernetes.io/default-container: s}}\nsidecars: [{name: s, image: i, mode: regular, position: {containers: first}}]";
    let result = result(&rules(&rule("r", spec)), &pod(r#"{"containers":[{"name":"app"}]}"#));
    assert_eq!(result["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"], "s");
}

#[test]
fn unknown_namespaces_do_not_deny_pods_that_are_not_meant() {
    let rules = rules(&rule("r", "required: true\noptIn: namespace\npod: {labels: {l: m}}"));
    let other = pod("{}").replace("\"app\"", "\"other\"");
    assert_eq!(word(&evaluate(&rules, &creation(&other))), "labels_not_matched");
    assert_eq!(word(&evaluate(&rules, &creation(&pod("{}")))), "denied");
}

/// Each took ten seconds or gigabytes: a copy of the line for every finding, copies of long texts, anchors in anchors.
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
fn a_template_that_nobody_rendered_is_named_as_such() {
    let text = "kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n";
    let problems = vestibule_rules::yaml::read("pod.yaml", text).err().unwrap();
    assert!(problems[0].help().is_some_and(|help| help.contains("helm template")), "{}", problems[0]);
}

/// The first brings a sidecar only where a label is not that the second sets, and the second wants to stand before all.
#[test]
fn a_rule_that_ended_itself_is_nobody_to_stand_behind() {
    let first = "sidecars: [{name: a, image: i, mode: native}]\nwhen: ['!has(object.metadata.labels.l)']";
    let second = "initContainers: [{name: b, image: i, position: {initContainers: first, strict: true}}]\n\
                  pod: {labels: {l: m}}";
    let both = rules(&(rule("one", first) + &rule("two", second)));
    let web = pod(r#"{"containers":[{"name":"app","image":"i"}],"initContainers":[]}"#);
    applied(&both, &creation(&web));
    assert_eq!(names(&result(&both, &web)["spec"]["initContainers"]), ["b", "a"]);
}

/// The second brings a container of the name that the first counts from, but is never for this pod.
#[test]
fn nobody_fails_beside_a_rule_that_is_absent() {
    let first = "containers: [{select: {index: 0}, onConflict: skipRule, env: [{name: A, value: ours}]}]";
    for absent in ["when: ['false']", "when: ['object.spec.gone']"] {
        let second = format!("{absent}\ninitContainers: [{{name: zero, image: i}}]");
        let both = rules(&(rule("one", first) + &rule("two", &second)));
        let web = pod(
            r#"{"containers":[{"name":"zero","image":"i"},{"name":"app","env":[{"name":"A","value":"theirs"}]}]}"#,
        );
        let made = result(&both, &web);
        assert_eq!(made["spec"]["containers"][0]["env"], json!([{"name": "A", "value": "ours"}]), "{absent}");
    }
}

/// The second ends its own condition. Whether the third was laid in hung on the first, which never is.
#[test]
fn a_rule_that_ended_itself_keeps_its_place_beside_the_others() {
    let first = "order: -1\nonConflict: skipRule\nsidecars: [{name: e, image: ours, mode: regular}]";
    let second = "order: -1\nonConflict: keep\nsidecars: [{name: c, image: i}]\npod: {labels: {l: m}}\n\
                  when: ['!has(object.metadata.labels.l)']";
    let third = "onConflict: skipRule\ncontainers: [{select: {index: 0}, env: [{name: A, value: ours}]}]";
    let web = pod(r#"{"containers":[{"name":"c"},{"name":"e","env":[{"name":"A","value":"theirs"}]}]}"#);
    let (second, third) = (rule("b", second), rule("c", third));
    let (all, two) = (rules(&(rule("a", first) + &second + &third)), rules(&(second + &third)));
    assert_eq!(words(&decide(&all, &web)), ["conflict", "applied", "applied"]);
    assert_eq!(words(&decide(&two, &web)), ["applied", "applied"]);
    assert_eq!(result(&all, &web)["spec"], result(&two, &web)["spec"]);
}

/// The first is never for this pod, whose container has the name of the one it brings. The second passed that container over,
/// failed for another reason, and was left out with it: a pod came in that it refuses.
#[test]
fn nobody_fails_over_a_rule_that_fails() {
    let first = "initContainers: [{name: app, image: i}]";
    let second = "onConflict: keep\n\
                  containers: [{select: {all: true}, onConflict: deny, env: [{name: E, value: ours}]}]\n\
                  initContainers: [{name: b, image: i, volumeMounts: [{name: gone, mountPath: /x}]}]";
    let web = pod(r#"{"containers":[{"name":"app","env":[{"name":"E","value":"theirs"}]}]}"#);
    let both = decide(&rules(&(rule("a", first) + &rule("b", second))), &web);
    let alone = decide(&rules(&rule("b", second)), &web);
    assert_eq!((words(&both), words(&alone)), (vec!["conflict", "denied"], vec!["denied"]));
}

/// What was moved back to the first place was named by a label only in the second evaluation.
#[test]
fn expressions_see_what_was_moved_back() {
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

/// The second ends the condition of the first, whose container stands elsewhere already.
#[test]
fn nothing_is_moved_for_a_rule_that_is_left_out() {
    let first = "when: ['!has(object.metadata.labels.l)']\n\
                 sidecars: [{name: b, image: i, mode: regular, position: {containers: first, strict: true}}]";
    let both = rules(&(rule("a", first) + &rule("b", "pod: {labels: {l: m}}")));
    let web =
        pod(r#"{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}],"initContainers":[]}"#);
    assert_eq!(words(&decide(&both, &web)), ["when_false", "applied"]);
    assert_eq!(names(&result(&both, &web)["spec"]["containers"]), ["a", "b"]);
}
