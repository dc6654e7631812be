//! Messages tell their reader what to do.

use serde_json::Value;
use vestibule_rules::Diagnostic;

use crate::kit::{load, rule, rules, schema};

fn found(text: &str, id: &str) -> Diagnostic {
    let findings = load(text).err().unwrap();
    let found = findings.iter().find(|finding| finding.code().id == id);
    found.unwrap_or_else(|| panic!("no {id} among {findings:?}")).clone()
}

/// The example that the help of a finding shows.
fn shown(finding: &Diagnostic) -> &str {
    let help = finding.help().unwrap_or_else(|| panic!("{} has no help", finding.headline()));
    help.strip_prefix("for example `")
        .and_then(|rest| rest.strip_suffix('`'))
        .unwrap_or_else(|| panic!("{help}"))
}

/// The message `wants a list` alone does not tell what the items are.
#[test]
fn the_help_for_a_wrong_kind_shows_a_valid_example() {
    let schema: Value = serde_json::from_str(&vestibule_rules::schema::json(schema())).unwrap();
    let mut fields = 0;
    for (name, field) in schema["$defs"]["spec"]["properties"].as_object().unwrap() {
        let refused = load(&rule("r", &format!("{name}: {{x: [1]}}\nsidecars: [{{name: s, image: s}}]")));
        let Some(finding) = refused.err().unwrap_or_default().into_iter().find(|one| {
            one.code().id == "VST0111" && one.message().starts_with(&format!("`{name}` wants a list"))
        }) else {
            assert!(field["type"] != "array", "{name} takes a map");
            continue;
        };
        fields += 1;
        let mended = rule("r", &format!("{name}: {}", shown(&finding)));
        let findings = load(&mended).err().unwrap_or_default();
        let of_form = ["VST0110", "VST0111", "VST0112", "VST0113", "VST0117"];
        let of_form: Vec<_> = findings.iter().filter(|one| of_form.contains(&one.code().id)).collect();
        assert!(of_form.is_empty(), "{mended}: {of_form:?}");
    }
    assert!(fields >= 9, "only {fields} fields take lists");
    for (spec, what, example) in [
        ("pod: [1]", "pod", "{labels: {team: blue}}"),
        (
            "containerPatches: [x]",
            "containerPatches",
            "{select: {all: true}, env: [{name: TARGET, value: hall}]}",
        ),
        ("sidecars: {name: s}", "sidecars", "[{name: proxy, image: 'proxy:1.2'}]"),
        ("sidecars: [s]", "sidecars", "{name: proxy, image: 'proxy:1.2'}"),
        ("sidecars: [{name: s, image: s, env: {A: b}}]", "env", "[{name: TARGET, value: hall}]"),
        ("sidecars: [{name: s, image: s, env: [A=b]}]", "env", "{name: TARGET, value: hall}"),
        (
            "sidecars: [{name: s, image: s, securityContext: {capabilities: [ALL]}}]",
            "capabilities",
            "{add: ..., drop: ...}",
        ),
        (
            "pod: {spec: {topologySpreadConstraints: {x: 1}}}",
            "topologySpreadConstraints",
            "[{topologyKey: ..., whenUnsatisfiable: ...}]",
        ),
        ("pod: {labels: [team]}", "labels", "{team: blue}"),
        (
            "parameters: {port: 80}",
            "parameters",
            "[{name: port, type: int, default: 8080, annotation: example.com/port}]",
        ),
        ("rollout: 10", "rollout", "{percent: 10}"),
    ] {
        let finding = found(&rule("r", spec), "VST0111");
        assert!(
            finding.message().trim_start_matches('`').starts_with(what),
            "{spec}: {}",
            finding.headline()
        );
        assert_eq!(shown(&finding), example, "{spec}");
    }
}

/// The example is printed below the source line.
#[test]
fn the_example_is_printed_with_the_finding() {
    let printed = found(&rule("r", "rollout: 10"), "VST0111").to_string();
    assert!(printed.ends_with("^ help: for example `{percent: 10}`"), "{printed}");
}

/// The API server never sees the name of a parameter.
#[test]
fn errors_of_the_rule_format_do_not_blame_the_api_server() {
    let sidecar = "sidecars: [{name: s, image: s}]";
    for (text, said) in [
        (
            rule("r", &format!("{sidecar}\nparameters: [{{name: my-port, type: int, default: 1}}]")),
            "expressions cannot use this `name`",
        ),
        (
            rule("r", &format!("{sidecar}\nvariables: [{{name: 1st, expression: 'true'}}]")),
            "expressions cannot use this `name`",
        ),
        (
            rule(
                "r",
                &format!("{sidecar}\nparameters: [{{name: port, type: int, default: 1, annotation: 'a b'}}]"),
            ),
            "no object can have an annotation with this key",
        ),
        (
            rule("r", &format!("{sidecar}\ncompatAnnotations: {{'a b': ['yes']}}")),
            "no object can have an annotation with this key",
        ),
        (rule("A_b", sidecar), "keys of labels and annotations cannot end with this `metadata.name`"),
        (rule("r", sidecar).replace("app: web", "'a b': web"), "no object can have a label with this key"),
        (
            rule("r", sidecar).replace("app: web", "app: a b"),
            "no object can have this value of the label `app`",
        ),
    ] {
        let finding = found(&text, "VST0113");
        assert!(finding.message().starts_with(said), "{}", finding.headline());
        assert!(finding.help().unwrap().starts_with("wanted: "), "{:?}", finding.help());
    }
    let pod = found(&rule("r", "pod: {labels: {app: 'a b'}}"), "VST0113");
    assert!(
        pod.message().starts_with("the API server refuses this value"),
        "a label of the pod, it does see"
    );
}

/// Users of other injectors look for annotations where labels are matched.
#[test]
fn annotations_under_match_get_help_with_alternatives() {
    let text = rule("r", "sidecars: [{name: s, image: s}]")
        .replace("matchLabels: {app: web}", "matchLabels: {app: web}, annotations: {team: blue}");
    let help = found(&text, "VST0114").help().unwrap().to_owned();
    for way in ["`optIn: pod`", "`compatAnnotations`", "`matchConditions: ["] {
        assert!(help.contains(way), "{way}: {help}");
    }
    // The condition in the help is valid.
    let condition = help.rsplit_once("`matchConditions: ").unwrap().1.trim_end_matches('`');
    let condition = condition.replace("KEY", "team").replace("VALUE", "blue");
    let acts = rules(&rule("r", &format!("matchConditions: {condition}\npod: {{labels: {{l: m}}}}")));
    let pod = |annotations: &str| {
        format!(r#"{{"metadata":{{"labels":{{"app":"web"}}{annotations}}},"spec":{{}}}}"#)
    };
    let word = |pod: &str| crate::kit::words(&crate::kit::decide(&acts, pod)).join(",");
    assert_eq!(word(&pod(r#","annotations":{"team":"blue"}"#)), "applied");
    assert_eq!(word(&pod("")), "match_condition_false");
}
