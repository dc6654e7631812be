//! Which keys of objects and namespaces are compared with opt-in keys, and the sentences of `match`.

use serde_json::{Map, json};
use vestibule_rules::{Outcome, Resource, RuleSet};

use crate::kit::{creation, decide, evaluate, facts, pod, rule, rules, settings, word};

const CHANGE: &str = "pod: {labels: {x: y}}";

fn with_annotations(keys: &[String]) -> String {
    let annotations: Map<_, _> = keys.iter().map(|key| (key.clone(), json!("true"))).collect();
    json!({"metadata": {"labels": {"app": "web"}, "annotations": annotations}, "spec": {}}).to_string()
}

/// A Deployment with a misspelt key in its own annotations or in those of its pod template.
fn deployment(own: &[&str], template: &[&str]) -> String {
    let annotations =
        |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), json!("true"))).collect::<Map<_, _>>();
    json!({
        "metadata": {"labels": {"app": "web"}, "annotations": annotations(own)},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}, "annotations": annotations(template)}, "spec": {}}},
    })
    .to_string()
}

/// The keys of the pod template are always read, those of the workload only if a rule reads them.
#[test]
fn misspelt_keys_of_a_workload() {
    const KEY: &str = "inject.vestibule.dev/ngnix";
    let of = |metadata: &str| {
        rules(&rule("nginx", &format!("targets: [pods, deployments]\nmetadataOf: {metadata}\n{CHANGE}")))
    };
    let (template, workload) = (of("podTemplate"), of("workload"));
    let warning =
        |place: &str| format!("no rule reads {KEY} of {place}; did you mean inject.vestibule.dev/nginx?");
    let (own, below) = (deployment(&[KEY], &[]), deployment(&[], &[KEY]));
    let found = |rules: &RuleSet, object: &str| {
        evaluate(rules, &creation(object).resource(Resource::Deployments)).warnings
    };
    for (rules, object, expected) in [
        (&template, &own, vec![]),
        (&template, &below, vec![warning("the pod template")]),
        (&workload, &own, vec![warning("the object")]),
        (&workload, &below, vec![warning("the pod template")]),
    ] {
        assert_eq!(found(rules, object), expected, "{object}");
    }
    // A pod has one place of keys.
    assert_eq!(decide(&workload, &with_annotations(&[KEY.to_owned()])).warnings, [warning("the object")]);
}

/// Keys without a part of the domain are not compared, so they do not use up the number of comparisons.
#[test]
fn keys_of_other_domains_do_not_hide_a_misspelt_one() {
    let mut keys: Vec<String> = (0..100).map(|number| format!("attu.example.com/k{number}")).collect();
    keys.push("inject.vestibule.dev/ngnix".to_owned());
    let warnings = decide(&rules(&rule("nginx", CHANGE)), &with_annotations(&keys)).warnings;
    assert_eq!(
        warnings,
        ["no rule reads inject.vestibule.dev/ngnix of the object; did you mean inject.vestibule.dev/nginx?"]
    );
}

/// Longer names than labels and rules may have are not compared.
#[test]
fn a_name_has_at_most_63_letters() {
    let name = "a".repeat(63);
    let rules = rules(&rule(&name, CHANGE));
    let warnings =
        |key: String| decide(&rules, &with_annotations(&[format!("inject.vestibule.dev/{key}")])).warnings;
    assert_eq!(warnings(format!("{}b", &name[1..])).len(), 1);
    assert_eq!(warnings(format!("{name}a")), [""; 0]);
}

/// Without the labels of the namespace it is not known whether it lacks one.
#[test]
fn an_exemption_without_labels_of_the_namespace() {
    for (selector, expected) in [
        ("{matchLabels: {kubernetes.io/metadata.name: team-a}}", "exempted"),
        ("{matchExpressions: [{key: loud, operator: DoesNotExist}]}", "applied"),
    ] {
        let settings = settings(&format!("{{exemptions: [{{namespaceSelector: {selector}}}]}}"));
        let rules = rules(&(settings + &rule("r", CHANGE)));
        let object = pod("{}");
        assert_eq!(word(&evaluate(&rules, &creation(&object).facts(None))), expected, "{selector}");
        assert_eq!(word(&evaluate(&rules, &creation(&object).facts(&facts(&[])))), "exempted", "{selector}");
    }
}

#[test]
fn the_namespace_selector_is_explained() {
    let of = |selector: &str| {
        rules(&rule("r", CHANGE).replace("match: {", &format!("match: {{namespaceSelector: {selector}, ")))
    };
    let named = "{matchLabels: {kubernetes.io/metadata.name: other}}";
    let labelled = "{matchLabels: {team: blue}}";
    let (object, red, blue) = (pod("{}"), facts(&[("team", "red")]), facts(&[("team", "blue")]));
    for (selector, starts, contains) in
        [(named, "the rule is not for namespace team-a", ""), (labelled, "namespace team-a", "team")]
    {
        let decision = evaluate(&of(selector), &creation(&object).facts(&red));
        let Outcome::Skipped { sentence, .. } = &decision.verdicts[0].outcome else { panic!("skipped") };
        assert!(sentence.starts_with(starts) && sentence.contains(contains), "{sentence}");
    }
    for (selector, expected) in
        [("{}", "the rule is for any namespace"), (labelled, "namespace team-a meets `team=blue`")]
    {
        let explanation = of(selector).explain(&creation(&object).facts(&blue)).unwrap();
        let gates = explanation.rules[0].gates.iter();
        let sentences: Vec<_> =
            gates.filter(|gate| gate.name == "match.namespaceSelector").map(|gate| &*gate.sentence).collect();
        assert_eq!(sentences, [expected]);
    }
}
