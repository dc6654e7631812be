//! Hostile documents and objects are refused or handled within seconds.

use std::time::Duration;

use cpu_time::ThreadTime;
use vestibule_rules::{Diagnostic, RuleSet};

use crate::kit::{decide, load, names, pod, result, rule, rules, schema, steps, word, words};

/// The codes of the findings about the text, without duplicates. The call must end within seconds on any machine.
fn codes(text: &str) -> Vec<&'static str> {
    let work = ThreadTime::now();
    let found = load(text).err().unwrap_or_default();
    let shown: usize = found.iter().map(|one| one.to_string().len()).sum();
    assert!(found.len() <= 201 && shown < 201 * 2_000, "{} findings, {shown} bytes", found.len());
    assert!(work.elapsed() < Duration::from_secs(30), "{:?}", work.elapsed());
    let mut codes: Vec<_> = found.iter().map(|one| one.code().id).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn a_hundred_thousand_unknown_keys_are_refused_quickly() {
    let keys = |name: fn(usize) -> String| (0..100_000).map(name).collect::<String>();
    let unknown = rule("r", "pod: {labels: {a: b}}") + &keys(|index| format!("  key{index}: x\n"));
    assert_eq!(codes(&unknown), ["VST0109", "VST0110"]);
    let doubled = rule("r", "pod: {labels: {a: b}}") + &keys(|_| "  order: 1\n".to_owned());
    assert_eq!(codes(&doubled), ["VST0102", "VST0109"]);
    let documents = "---\na: 1\n".repeat(10_000);
    assert_eq!(codes(&documents), ["VST0109", "VST0115"]);
    let broken = keys(|_| "---\na: [\n".to_owned());
    assert_eq!(codes(&broken), ["VST0101", "VST0109"]);
}

#[test]
fn a_document_of_a_megabyte_and_a_half_is_read() {
    let long = "x".repeat(1_400_000);
    assert!(codes(&rule("r", &format!("pod: {{annotations: {{a: \"{long}\"}}}}"))).is_empty());
    assert_eq!(codes(&rule("r", &format!("pod: {{labels: {{a: \"{long}\"}}}}"))), ["VST0113"]);
    assert_eq!(codes(&rule("r", &format!("{long}: 1\npod: {{labels: {{a: b}}}}"))), ["VST0101"]);
    assert_eq!(codes(&"---\n".repeat(350_000)), [""; 0]);
    assert_eq!(codes(&"-\n".repeat(700_000)), ["VST0111"]);
    assert_eq!(codes(&"[],".repeat(400_000)), ["VST0101", "VST0111"]);
}

#[test]
#[ignore = "half a minute without optimisation"]
fn more_than_a_million_values_are_refused() {
    assert_eq!(codes(&format!("[{}1]", "1,".repeat(1_000_000))), ["VST0107"]);
}

#[test]
fn a_rule_at_the_nesting_limit_is_read() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let spec = format!("sidecars: [{{name: s, image: 'i:1', odd: {}}}]", deep(120));
    let set = RuleSet::load([("rules.yaml", &*rule("r", &spec))], schema()).unwrap();
    assert!(set.prove().is_ok());
    assert_eq!(codes(&rule("r", &spec.replace(&deep(120), &deep(130)))), ["VST0105"]);
}

#[test]
fn a_thousand_rules_are_read() {
    let one = |index: usize| {
        rule(
            &format!("r{index}"),
            &format!("sidecars: [{{name: s{index}, image: s, env: [{{name: A, value: b}}]}}]"),
        )
    };
    let text: String = (0..1000).map(one).collect();
    let work = ThreadTime::now();
    let set = RuleSet::load([("rules.yaml", &*text)], schema()).unwrap();
    assert_eq!(set.rules().len(), 1000);
    assert_eq!(set.lint().len(), 3000);
    assert!(work.elapsed() < Duration::from_secs(30), "{:?}", work.elapsed());
    assert_eq!(codes(&text.replace("image", "imgae")), ["VST0109", "VST0110"]);
}

/// The size of the largest object that the API server stores.
#[test]
fn a_pod_of_a_megabyte_and_a_half_is_evaluated() {
    let mut env: String = (0..15_000)
        .map(|index| format!(r#"{{"name":"SETTING_{index}","value":"https://s{index}.example.com:8443"}},"#))
        .collect();
    env.pop();
    let annotation = "configuration ".repeat(30_000);
    let pod = format!(
        r#"{{"metadata":{{"labels":{{"app":"web"}},"annotations":{{"a":"{annotation}"}}}},"spec":{{"containers":[{{"name":"app","image":"i","env":[{env}]}}]}}}}"#
    );
    assert!((1_400_000..1_500_000).contains(&pod.len()), "{}", pod.len());
    let spec = "variables: [{name: images, expression: 'object.spec.containers.map(c, c.image)'}]\nmatchConditions: [{name: c0, expression: \"'i' in variables.images\"}]\nsidecars: [{name: s, image: 's:1'}]\ncontainerPatches: [{select: {all: true}, env: [{name: EXTRA, value: x}, {name: SETTING_7, value: y}]}]";
    let fixed = spec.lines().skip(2).collect::<Vec<_>>().join("\n");
    let work = ThreadTime::now();
    let set = rules(&rule("r", &fixed));
    let made = result(&set, &pod);
    let env = made["spec"]["containers"][0]["env"].as_array().unwrap();
    assert_eq!((env.len(), &env[8]["value"]), (15_001, &"https://s7.example.com:8443".into()));
    assert_eq!(made["spec"]["initContainers"][0]["name"], "s");
    let decision = decide(&rules(&rule("r", spec)), &pod);
    assert!(word(&decision) == "applied", "{:?}", (word(&decision), work.elapsed()));
    assert!(work.elapsed() < Duration::from_secs(30), "{:?}", work.elapsed());
}

#[test]
fn a_thousand_rules_are_evaluated_for_one_pod() {
    let one = |index: usize| {
        rule(
            &format!("r{index:03}"),
            &format!(
                "volumes: [{{name: v{index:03}, emptyDir: {{}}}}]\npod: {{labels: {{l{index:03}: x}}}}\n\
                 containerPatches: [{{select: {{all: true}}, env: [{{name: E{index:03}, value: x}}], \
                 volumeMounts: [{{name: v{index:03}, mountPath: /v{index:03}}}]}}]"
            ),
        )
    };
    let set = rules(&(0..1000).map(one).collect::<String>());
    let object = pod(r#"{"containers":[{"name":"app","image":"i"}]}"#);
    let work = ThreadTime::now();
    let decision = decide(&set, &object);
    assert!(words(&decision).iter().all(|word| *word == "applied"));
    // `result` runs the second evaluation.
    let made = result(&set, &object);
    let named = |prefix: &str| (0..1000).map(|index| format!("{prefix}{index:03}")).collect::<Vec<_>>();
    assert_eq!(names(&made["spec"]["volumes"]), named("v"));
    let app = &made["spec"]["containers"][0];
    assert_eq!(names(&app["volumeMounts"]), named("v"));
    let mut variables = names(&app["env"]);
    variables.reverse();
    assert_eq!(variables, named("E"));
    assert_eq!(made["metadata"]["labels"].as_object().unwrap().len(), 1001);
    assert!(work.elapsed() < Duration::from_secs(30), "{:?}", work.elapsed());
}

/// Each rule waits for the label that the next rule writes.
#[test]
fn the_number_of_merges_of_dependent_rules_is_bounded() {
    let row = |length: usize| {
        let one = |index: usize| {
            let when = format!(
                "matchConditions: [{{name: c0, expression: \"has(object.metadata.labels.l{})\"}}]",
                index + 1
            );
            let when = if index + 1 < length { when.as_str() } else { "" };
            rule(&format!("r{index:03}"), &format!("{when}\npod: {{labels: {{l{index}: x}}}}"))
        };
        let fixed = rule("fixed", "pod: {annotations: {a: b}}");
        rules(&((0..length).map(one).collect::<String>() + &fixed))
    };
    let object = pod(r#"{"containers":[{"name":"app","image":"i"}]}"#);
    let work = ThreadTime::now();
    assert!(words(&decide(&row(40), &object)).iter().all(|word| *word == "applied"));
    // With the rule `fixed` these are 88 rules, which may take 10,000 merges and 20 more for each rule. They need more than 10,108.
    assert!(words(&decide(&row(87), &object)).iter().all(|word| *word == "applied"));
    assert!(words(&decide(&row(88), &object)).contains(&"error"));
    let long = row(200);
    let decision = decide(&long, &object);
    let fixed = [r#"add /metadata/annotations {"a":"b"}"#, r#"add /metadata/labels/l199 "x""#];
    assert_eq!(steps(&decision), fixed);
    let sentence =
        "rule r000 was left out: the rules wait for each other longer than an evaluation of so many may take";
    assert_eq!(decision.warnings.iter().filter(|warning| *warning == sentence).count(), 1);
    let again = object.replace(r#""labels":{"#, r#""annotations":{"a":"b"},"labels":{"l199":"x","#);
    assert!(steps(&decide(&long, &again)).is_empty());
    assert!(work.elapsed() < Duration::from_secs(60), "{:?}", work.elapsed());
}

/// Each rule mounts the volume that the next rule adds. The limit holds for rules that do not read the object as well.
#[test]
fn rules_that_wait_too_long_for_volumes_are_left_out() {
    for (length, expected) in [(20, "applied"), (120, "error")] {
        let one = |index: usize| {
            let next = index + 1;
            let mount = format!(
                "containerPatches: [{{select: {{all: true}}, volumeMounts: [{{name: v{next}, mountPath: /v{next}}}]}}]"
            );
            let mount = if next < length { mount.as_str() } else { "" };
            rule(&format!("r{index:03}"), &format!("volumes: [{{name: v{index}, emptyDir: {{}}}}]\n{mount}"))
        };
        let rules = rules(&(0..length).map(one).collect::<String>());
        let decision = decide(&rules, &pod(r#"{"containers":[{"name":"app","image":"i"}]}"#));
        assert!(words(&decision).iter().all(|word| *word == expected), "{:?}", decision.warnings);
        assert_eq!(steps(&decision).is_empty(), expected == "error");
    }
}

#[test]
fn unusual_characters_survive() {
    let fine = rule("r", "pod:\n  labels:\n    a: b");
    for same in [fine.replace('\n', "\r\n"), format!("\u{feff}{fine}")] {
        assert_eq!(load(&same).unwrap().hash(), load(&fine).unwrap().hash());
    }
    assert_eq!(codes(&fine.replace("  labels", "\tlabels")), ["VST0101"]);
    assert!(!codes(&fine.replace("a: b", "a: b\0c")).is_empty());
    assert!(!codes(&fine.replace("name: r", "name: \"r\\0\"")).is_empty());
    // Two anchors of one name are legal: the later one is used.
    let anchors =
        "sidecars:\n- &a {name: s, image: 'i:1'}\ninitContainers:\n- &a {name: t, image: 'i:1'}\nvolumes: []";
    assert!(codes(&rule("r", anchors)).is_empty());
    let shown = load(&rule("r", "pod: {labels: {a: b}}\n\"x\u{202e}y\u{2066}\u{1b}[2J\": 1")).err().unwrap();
    let text: String = shown.iter().map(Diagnostic::to_string).collect();
    assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{text:?}");
}

#[test]
fn alias_bombs_in_a_rule_are_refused() {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(","));
    }
    assert!(codes(&rule("r", &text)).contains(&"VST0104"));
}

/// kube-apiserver accepts 10,000 levels. Fields that no rule reads cost nothing.
#[test]
fn an_object_may_have_10000_levels() {
    let labels = "pod: {labels: {seen: here}}";
    let reads = format!(
        "matchConditions: [{{name: c0, expression: \"has(object.spec.deep) && size(object.spec.deep) == 1\"}}]\n{labels}"
    );
    for levels in [500, 9_990] {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let web = pod(&format!(r#"{{"containers":[{{"name":"app"}}],"deep":{deep}}}"#));
        let decision = decide(&rules(&rule("r", labels)), &web);
        assert_eq!(word(&decision), "applied", "{levels}");
        let mut document = vestibule_patch::Document::parse(&web).unwrap();
        document.apply_all(decision.patch()).unwrap();
        assert!(document.to_json().contains(&deep) && document.to_json().contains(r#""seen":"here""#));

        let decision = decide(&rules(&rule("r", &reads)), &web);
        assert_eq!(word(&decision), "applied", "{levels}");
        // An expression that compares the whole object fails, and writes no label.
        let compares = format!(
            "matchConditions: [{{name: c0, expression: \"object.spec.deep == object.spec.other\"}}]\n{labels}"
        );
        let twins = pod(&format!(r#"{{"containers":[{{"name":"app"}}],"deep":{deep},"other":{deep}}}"#));
        let decision = decide(&rules(&rule("r", &compares)), &twins);
        assert!(word(&decision) != "applied" && steps(&decision).is_empty(), "{}", word(&decision));
        // In YAML output deeply nested values are written as JSON.
        assert!(vestibule_rules::yaml::from_json(&web).unwrap().contains(r#"{"a":{"a":"#));
    }
}
