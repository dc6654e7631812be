//! Label selectors, and the former names of fields.

use vestibule_rules::RuleSet;

use crate::kit::{codes, creation, evaluate, facts, load, rule, rules, word};

fn matching(selectors: &str) -> RuleSet {
    rules(
        &rule("r", "optIn: either\npod: {labels: {x: y}}")
            .replace("objectSelector: {matchLabels: {app: web}}", selectors),
    )
}

/// The operators have the meaning of the API server's.
#[test]
fn requirements_are_met_as_in_the_api_server() {
    for (requirement, blue, red, absent) in [
        ("operator: In, values: [blue, green]", true, false, false),
        ("operator: NotIn, values: [blue, green]", false, true, true),
        ("operator: Exists", true, true, false),
        ("operator: DoesNotExist", false, false, true),
    ] {
        for (field, reason) in
            [("objectSelector", "labels_not_matched"), ("namespaceSelector", "namespace_not_matched")]
        {
            let rules = matching(&format!("{field}: {{matchExpressions: [{{key: team, {requirement}}}]}}"));
            let of_object = field == "objectSelector";
            for (value, met) in [(Some("blue"), blue), (Some("red"), red), (None, absent)] {
                let labels: Vec<_> = value.into_iter().map(|value| ("team", value)).collect();
                let (own, space) = if of_object { (labels, vec![]) } else { (vec![], labels) };
                let own: serde_json::Map<_, _> =
                    own.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
                let object = serde_json::json!({"metadata": {"labels": own}, "spec": {}}).to_string();
                let space = [&space[..], &[("vestibule.dev/inject", "true")]].concat();
                let found = word(&evaluate(&rules, &creation(&object).facts(&facts(&space))));
                assert_eq!(found, if met { "applied" } else { reason }, "{field} {requirement} {value:?}");
            }
        }
    }
}

/// The name of a namespace is a label of it, which is known without the namespace.
#[test]
fn namespaces_are_selected_by_name_without_their_labels() {
    let text = rule("r", "pod: {labels: {x: y}}").replace(
        "match: {",
        "match: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [quiet]}]}, ",
    );
    let rules = rules(&text);
    assert!(!rules.needs_namespace_facts());
    let subject = creation(r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#);
    assert_eq!(word(&evaluate(&rules, &subject)), "applied");
    assert_eq!(word(&evaluate(&rules, &subject.namespace("quiet"))), "namespace_not_matched");
}

#[test]
fn requirements_are_read_strictly() {
    for (requirement, code) in [
        ("{key: team, operator: In}", "VST0113"),
        ("{key: team, operator: Exists, values: [blue]}", "VST0113"),
        ("{key: team, operator: in, values: [blue]}", "VST0113"),
        ("{key: 'te am', operator: Exists}", "VST0113"),
        ("{key: team, operator: In, values: ['bl ue']}", "VST0113"),
        ("{operator: Exists}", "VST0112"),
    ] {
        let text = rule("r", "pod: {labels: {x: y}}").replace(
            "match: {",
            &format!("match: {{namespaceSelector: {{matchExpressions: [{requirement}]}}, "),
        );
        assert_eq!(codes(&text), [code], "{requirement}");
    }
}

/// Each former name is one error at its own line, with the name of today.
#[test]
fn former_names_are_errors_that_name_the_new_ones() {
    for (spec, line, new) in [
        ("when: ['true']\npod: {labels: {a: b}}", 7, "matchConditions"),
        (
            "variables: [{name: v, expr: '1'}]\npod: {labels: {a: {$cel: string(variables.v)}}}",
            7,
            "expression",
        ),
        ("pod: {labels: {a: b}}\ncontainers: []", 8, "containerPatches"),
    ] {
        let found = load(&rule("r", spec)).err().unwrap_or_default();
        let [one] = &*found else { panic!("{spec}: {found:?}") };
        assert_eq!((one.code().id, one.position().line), ("VST0124", line), "{spec}");
        assert!(one.message().ends_with(&format!("is `{new}` now")), "{}", one.message());
        assert!(one.help().is_some_and(|help| help.contains(new) && help.contains("lint --fix")), "{spec}");
    }
    let head = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: r}\nspec:\n";
    let settings = "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {name: s}\nspec:\n";
    for (text, new) in [
        (
            format!("{head}  match: {{namespaces: {{names: [a]}}}}\n  pod: {{labels: {{a: b}}}}\n"),
            "namespaceSelector",
        ),
        (
            format!("{head}  match: {{objects: {{labels: {{a: b}}}}}}\n  pod: {{labels: {{c: d}}}}\n"),
            "objectSelector",
        ),
        (format!("{settings}  exemptions: [{{namespaces: [a]}}]\n"), "namespaceSelector"),
        (format!("{settings}  exemptions: [{{namespaceLabels: {{a: b}}}}]\n"), "namespaceSelector"),
        (format!("{settings}  exemptions: [{{objectLabels: {{a: b}}}}]\n"), "objectSelector"),
    ] {
        let found = load(&text).err().unwrap_or_default();
        let [one] = &*found else { panic!("{text}: {found:?}") };
        assert_eq!((one.code().id, one.position().line), ("VST0124", 5), "{text}");
        assert!(one.message().ends_with(&format!("is `{new}` now")), "{}", one.message());
    }
}

#[test]
fn conditions_have_names() {
    for (conditions, code) in [
        ("[{expression: 'true'}]", "VST0112"),
        ("[{name: 'a b', expression: 'true'}]", "VST0113"),
        ("[{name: a, expression: 'true'}, {name: a, expression: 'true'}]", "VST0116"),
    ] {
        let text = rule("r", &format!("matchConditions: {conditions}\npod: {{labels: {{a: b}}}}"));
        assert_eq!(codes(&text), [code], "{conditions}");
    }
    let many: String = (0..65).map(|number| format!("- {{name: c{number}, expression: 'true'}}\n")).collect();
    let text = rule("r", &format!("matchConditions:\n{many}pod: {{labels: {{a: b}}}}"));
    assert_eq!(codes(&text)[0], "VST0133", "the API server takes 64");
}
