//! `lint --fix`: former names become the names of today.

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_rules::rename::fixed;
use vestibule_rules::yaml;

use crate::kit::load;

const RULE: &str = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: r}\nspec:\n";
const SETTINGS: &str =
    "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {name: s}\nspec:\n";

fn with_crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// Every line below the head, before and after.
#[test]
fn each_former_name_is_rewritten_where_it_stands() {
    for (head, before, after) in [
        (
            RULE,
            "  match:\n    # ours\n    namespaces: # by label\n      matchLabels: {a: b}\n    objects:\n      labels:\n        app: web # this one\n  pod: {labels: {c: d}}\n",
            "  match:\n    # ours\n    namespaceSelector: # by label\n      matchLabels: {a: b}\n    objectSelector:\n      matchLabels:\n        app: web # this one\n  pod: {labels: {c: d}}\n",
        ),
        (
            RULE,
            "  match:\n    namespaces:\n      names:\n      - a # first\n      # second\n      - b\n      exclude: [c]\n  pod: {labels: {c: d}}\n",
            "  match:\n    namespaceSelector:\n      matchExpressions:\n      - key: kubernetes.io/metadata.name\n        operator: In\n        values:\n        - a # first\n        # second\n        - b\n      - {key: kubernetes.io/metadata.name, operator: NotIn, values: [c]}\n  pod: {labels: {c: d}}\n",
        ),
        (
            RULE,
            "  when: # both\n  # small\n  - \"size(object.spec.containers) == 1\" # yes\n  - >- # long\n    request.name == ''\n    || true\n  pod: {labels: {c: d}}\n  optIn: pod\n",
            "  matchConditions: # both\n  # small\n  - name: condition-1\n    expression: \"size(object.spec.containers) == 1\" # yes\n  - name: condition-2\n    expression: >- # long\n      request.name == ''\n      || true\n  pod: {labels: {c: d}}\n  optIn: pod\n",
        ),
        (
            RULE,
            "  optIn: pod\n  variables: [{name: v, expr: '1'}] # one\n  containers:\n  - select: {all: true}\n    env: [{name: A, value: {$cel: string(variables.v)}}]\n",
            "  optIn: pod\n  variables: [{name: v, expression: '1'}] # one\n  containerPatches:\n  - select: {all: true}\n    env: [{name: A, value: {$cel: string(variables.v)}}]\n",
        ),
        (
            SETTINGS,
            "  exemptions:\n  - namespaces: [a, b] # quiet\n    namespaceLabels: {c: d}\n    users: [e]\n  - objectLabels:\n      f: g # h\n",
            "  exemptions:\n  - namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b]}], matchLabels: {c: d}} # quiet\n    users: [e]\n  - objectSelector:\n      matchLabels:\n        f: g # h\n",
        ),
    ] {
        let found = fixed(&format!("{head}{before}"));
        assert_eq!(found, format!("{head}{after}"));
        assert_eq!(fixed(&with_crlf(&format!("{head}{before}"))), with_crlf(&found));
        assert!(load(&found).is_ok(), "{found}: {:?}", load(&found).err());
    }
}

#[test]
fn rules_in_a_config_map_are_rewritten() {
    let old = format!(
        "{RULE}  when: ['true'] # ours\n\n  containers:\n  - select: {{all: true}}\n    env: [{{name: A, value: b}}]\n"
    );
    let indented = |text: &str| -> String {
        let line = |line: &str| if line == "\n" { line.to_owned() } else { format!("    {line}") };
        text.split_inclusive('\n').map(line).collect()
    };
    let map = |rules: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: rules}}\ndata:\n  rules.yaml: | # of the team\n{}\n  other: |-\n    when: [x]\n",
            indented(rules)
        )
    };
    let found = fixed(&map(&(old.clone() + "---\n" + &old)));
    let new = fixed(&old);
    assert_ne!(new, old);
    assert_eq!(found, map(&(new.clone() + "---\n" + &new)));
    assert_eq!(fixed(&found), found);
    assert_eq!(fixed(&with_crlf(&map(&old))), with_crlf(&map(&new)));
    // The text of a scalar in one line or in quotes stays.
    let quoted = format!("kind: ConfigMap\ndata: {{rules.yaml: {}}}\n", serde_json::to_string(&old).unwrap());
    assert_eq!(fixed(&quoted), quoted);
}

#[test]
fn json_and_several_documents_are_rewritten() {
    let json = r#"{"apiVersion": "vestibule.dev/v1alpha1", "kind": "Injection", "metadata": {"name": "j"}, "spec": {"when": ["true"], "match": {"namespaces": {"names": ["a"], "exclude": ["b"]}}, "pod": {"labels": {"c": "d"}}}}"#;
    let found = fixed(json);
    assert!(serde_json::from_str::<Value>(&found).is_ok() && load(&found).is_ok(), "{found}");
    let old = format!("{RULE}  optIn: pod\n  when: ['true']\n  pod: {{labels: {{a: b}}}}\n");
    let other = "# only a comment\n";
    let namespaced = old.replace("kind: Injection", "kind: NamespacedInjection");
    let text = format!("{other}---\n{old}---\n{namespaced}---\nkind: ConfigMap\nwhen: [x]\n");
    let found = fixed(&text);
    assert_eq!(found.matches("matchConditions").count(), 2, "{found}");
    assert!(found.starts_with(other) && found.ends_with("kind: ConfigMap\nwhen: [x]\n"));
}

/// A list in brackets or in lines, with comments.
fn list(items: &'static [&'static str]) -> impl Strategy<Value = (bool, Vec<&'static str>)> {
    (any::<bool>(), prop::sample::subsequence(items, 1..=items.len()))
}

fn lines(indent: usize, flow: bool, items: &[&str], comment: &mut usize) -> String {
    let spaces = " ".repeat(indent);
    let mut next = || {
        *comment += 1;
        format!("# note {comment}.")
    };
    match flow {
        true => format!(" [{}] {}\n", items.join(", "), next()),
        false => {
            let items = items.iter().map(|item| format!("{spaces}{}\n{spaces}- {item} {}\n", next(), next()));
            format!("\n{}", items.collect::<String>())
        }
    }
}

proptest! {
    /// The result has no former name, means the same, keeps every comment in its order, and is stable.
    #[test]
    fn a_fixed_text_means_the_same_and_is_stable(
        names in prop::option::of(list(&["a", "b", "c"])),
        labels in prop::option::of(any::<bool>()),
        conditions in list(&["'true'", "request.name == 'a'", "\"has(object.spec)\""]),
        extra in 0..3_usize,
    ) {
        let mut comments = 0;
        let (step, mut text) = (2 + extra, RULE.to_owned());
        text += "  optIn: pod # as asked\n  match: # where\n    namespaces:\n";
        if let Some((flow, names)) = &names {
            text += &format!("      names:{}", lines(6 + extra, *flow, names, &mut comments));
        }
        match labels {
            Some(true) => text += "      matchLabels: {team: blue} # labels\n",
            Some(false) => text += "      matchLabels:\n        team: blue # labels\n",
            None => {}
        }
        if names.is_none() && labels.is_none() {
            text = text.replace("namespaces:\n", "objects: {labels: {app: web}}\n");
        }
        text += &format!("  when:{}", lines(step, conditions.0, &conditions.1, &mut comments));
        text += "  pod: {labels: {x: y}} # end\n";
        let found = fixed(&text);
        prop_assert_eq!(&fixed(&found), &found);
        prop_assert_eq!(fixed(&with_crlf(&text)), with_crlf(&found));
        prop_assert!(load(&found).is_ok(), "{}\n{}: {:?}", text, found, load(&found).err());
        let notes = |text: &str| text.lines().filter_map(|line| Some(line.split_once('#')?.1.to_owned())).collect::<Vec<_>>();
        prop_assert_eq!(notes(&found), notes(&text));
        let spec = |text: &str| -> Value {
            let documents = yaml::read("r.yaml", text).unwrap_or_else(|findings| panic!("{text}: {findings:?}"));
            serde_json::from_str::<Value>(&documents[0].to_json()).unwrap()["spec"].take()
        };
        let (before, after) = (spec(&text), spec(&found));
        let expressions: Vec<&Value> = after["matchConditions"].as_array().unwrap().iter().map(|one| &one["expression"]).collect();
        prop_assert_eq!(json!(expressions), before["when"].clone());
        if let Some((_, names)) = names {
            let selector = &after["match"]["namespaceSelector"];
            prop_assert_eq!(&selector["matchExpressions"][0]["values"], &json!(names));
            prop_assert_eq!(&selector["matchLabels"], &before["match"]["namespaces"]["matchLabels"]);
        }
    }
}
