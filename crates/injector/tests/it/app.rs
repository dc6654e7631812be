//! From rules to hooks.

use serde_json::{Value, json};
use vestibule::Target;
use vestibule_injector::{Namespaces, StartError, app};
use vestibule_rules::RuleSet;

use crate::fixture;

fn rules(specs: &[(&str, &str)]) -> RuleSet {
    let document = |(name, spec): &(&str, &str)| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        )
    };
    let text = specs.iter().map(document).collect::<Vec<_>>().join("---\n");
    fixture::rules(&text)
}

fn hooks(rules: RuleSet) -> Vec<Value> {
    let app = app(rules, Namespaces::labelled([("a", "b")])).unwrap_or_else(|error| panic!("{error}"));
    let registration = app.registration(&Target::service("shop/injector").unwrap(), "PEM").unwrap();
    let [mutating] = &*registration.objects() else { panic!("one configuration") };
    assert_eq!(mutating["kind"], "MutatingWebhookConfiguration");
    mutating["webhooks"].as_array().unwrap().clone()
}

#[test]
fn required_rules_have_a_hook_of_their_own_and_come_first() {
    let hooks = hooks(rules(&[
        ("a", "{order: -1, optIn: pod, volumes: [{name: a, emptyDir: {}}]}"),
        (
            "b",
            "{required: true, match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}, targets: [deployments], optIn: pod, \
             volumes: [{name: b, emptyDir: {}}]}",
        ),
    ]));
    let told: Vec<_> =
        hooks.iter().map(|hook| (&hook["name"], &hook["failurePolicy"], &hook["rules"])).collect();
    assert_eq!(
        json!(told),
        json!([
            ["required.injector.vestibule.dev", "Fail",
             [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}]],
            ["best-effort.injector.vestibule.dev", "Ignore",
             [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]],
        ])
    );
}

#[test]
fn without_rules_of_a_kind_there_is_no_hook_for_it() {
    let names = |required: &str| {
        let spec = format!(
            "{{required: {required}, match: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: team}}}}}}, volumes: [{{name: a, emptyDir: {{}}}}]}}"
        );
        hooks(rules(&[("a", &spec)])).iter().map(|hook| hook["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("true"), ["required.injector.vestibule.dev"]);
    assert_eq!(names("false"), ["best-effort.injector.vestibule.dev"]);
}

#[test]
fn entries_exclude_the_injectors_own_pods_and_namespace() {
    let hooks = hooks(rules(&[("a", "{optIn: pod, volumes: [{name: a, emptyDir: {}}]}")]));
    let own = json!({"key": "vestibule.dev/injector", "operator": "NotIn", "values": ["true"]});
    assert!(hooks[0]["objectSelector"]["matchExpressions"].as_array().unwrap().contains(&own));
    let namespaces = &hooks[0]["namespaceSelector"]["matchExpressions"][0]["values"];
    assert_eq!(*namespaces, json!(["kube-node-lease", "kube-public", "kube-system", "shop"]));
}

#[test]
fn rules_that_need_unknown_namespaces_cannot_start() {
    let asking = "{match: {namespaceSelector: {matchLabels: {a: b}}}, volumes: [{name: a, emptyDir: {}}]}";
    let error = app(rules(&[("asks", asking)]), Namespaces::unknown()).err().unwrap();
    assert_eq!(error, StartError::NamespacesUnknown { rules: vec!["asks".to_owned()] });
    assert!(
        error.to_string().contains("--namespace-labels k=v,...")
            && error.to_string().contains("--kubeconfig")
    );
    let silent = "{optIn: pod, volumes: [{name: a, emptyDir: {}}]}";
    assert!(app(rules(&[("silent", silent)]), Namespaces::unknown()).is_ok());
}
