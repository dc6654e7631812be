//! Rules of namespaces: where they apply, what they may add, and that nothing of the cluster's rules is undone.

mod bounds;
mod cluster_rules;

use serde_json::Value;
use vestibule_rules::{Decision, Diagnostic, Resource, RuleSet, Subject, Verb};

use crate::kit::{self, applied, load, pod, rule, rules, words};

/// Settings that allow every part that has a word.
const ALL: &str = "annotations, configMaps, env, imagePullSecrets, initContainers, labels, persistentVolumeClaims, secrets, \
                   sidecars, volumeMounts, volumes";

fn settings(parts: &str) -> String {
    kit::settings(&format!("{{namespacedInjections: {{allowedParts: [{parts}]}}}}"))
}

/// The rule `name` of namespace `shop`.
fn own(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: vestibule.dev/v1alpha1\nkind: NamespacedInjection\nmetadata: {{name: {name}, namespace: shop}}\nspec: {spec}\n"
    )
}

/// A pod of one container.
fn web() -> String {
    pod(r#"{"containers":[{"name":"app","image":"app:1"}]}"#)
}

fn creation_in<'o>(namespace: &'o str, object: &'o str) -> Subject<'o> {
    Subject::new(object, Resource::Pods, Verb::Create, namespace)
}

fn in_shop(object: &str) -> Subject<'_> {
    creation_in("shop", object)
}

fn decide(rules: &RuleSet, object: &str) -> Decision {
    rules.evaluate(&in_shop(object)).unwrap()
}

/// The pod in namespace `shop` after the rules. A second evaluation changes nothing.
fn made(rules: &RuleSet, object: &str) -> Value {
    serde_json::from_str(&applied(rules, &in_shop(object))).unwrap()
}

fn headlines(findings: &[Diagnostic]) -> Vec<String> {
    findings.iter().map(Diagnostic::headline).collect()
}

#[test]
fn a_rule_applies_to_the_pods_of_its_namespace_alone() {
    let rules = rules(&(settings("labels") + &own("team", "{pod: {labels: {team: blue}}}")));
    let pod = web();
    let result = made(&rules, &pod);
    assert_eq!(result["metadata"]["labels"]["team"], "blue");
    let status = result["metadata"]["annotations"]["vestibule.dev/injected"].as_str().unwrap();
    assert!(status.contains("shop/team@"), "{status}");
    assert_eq!(words(&decide(&rules, &pod)), ["applied"]);
    for namespace in ["stop", "shop2", "kube-system", ""] {
        let decision = rules.evaluate(&creation_in(namespace, &pod)).unwrap();
        assert!(decision.patch().is_empty() && decision.verdicts.is_empty(), "{namespace}");
    }
    // Workloads and their templates are left alone.
    let deployment = format!(r#"{{"metadata":{{"name":"web"}},"spec":{{"template":{pod}}}}}"#);
    let subject = Subject::new(&deployment, Resource::Deployments, Verb::Create, "shop");
    assert!(rules.evaluate(&subject).unwrap().patch().is_empty());
}

#[test]
fn without_settings_no_rule_is_in_force_and_a_warning_says_so() {
    let text = own("team", "{pod: {labels: {team: blue}}}");
    for text in [
        text.clone(),
        settings("labels").replace("{namespacedInjections: {allowedParts: [labels]}}", "{}") + &text,
    ] {
        let rules = rules(&text);
        let warnings = headlines(rules.warnings());
        assert!(
            warnings[0]
                .contains("warning[VST0193]: the InjectorSettings do not switch rules of namespaces on")
        );
        let decision = decide(&rules, &web());
        assert!(decision.patch().is_empty() && decision.verdicts.is_empty());
    }
    // The bounds must say what is allowed.
    let error = load(&settings("labels").replace("allowedParts: [labels]", "")).err().unwrap();
    assert!(headlines(&error)[0].contains("`allowedParts` is missing"), "{error:?}");
}

#[test]
fn fields_that_reach_beyond_the_namespace_are_no_fields_of_it() {
    for (field, message) in [
        ("required: true", "error[VST0192]: `required` in `spec` is for an Injection"),
        ("onError: deny", "error[VST0192]: `onError` in `spec`"),
        ("optIn: always", "error[VST0192]: `optIn` in `spec`"),
        ("targets: [deployments]", "error[VST0192]: `targets` in `spec`"),
        ("metadataOf: workload", "error[VST0192]: `metadataOf` in `spec`"),
        ("compatAnnotations: {a: ['b']}", "error[VST0192]: `compatAnnotations` in `spec`"),
        ("remove: [{labels: {key: a}}]", "error[VST0192]: `remove` in `spec`"),
        (
            "match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}",
            "error[VST0192]: `namespaceSelector` in `spec.match`",
        ),
        ("onConflict: override", "error[VST0192]: a rule of a namespace neither overrides"),
        ("onConflict: deny", "error[VST0192]: a rule of a namespace neither overrides"),
    ] {
        let text = settings(ALL) + &own("team", &format!("{{{field}, pod: {{labels: {{team: blue}}}}}}"));
        let found = headlines(&load(&text).err().unwrap());
        assert!(found.iter().any(|found| found.contains(message)), "{field}: {found:?}");
    }
    let text = settings(ALL) + &own("team", "{volumes: [{name: a, emptyDir: {}, onConflict: override}]}");
    assert!(headlines(&load(&text).err().unwrap())[0].contains("VST0192"));
}

#[test]
fn a_rule_without_a_namespace_or_in_one_of_the_cluster_is_refused() {
    let text = |namespace: &str| {
        settings(ALL) + &own("team", "{pod: {labels: {team: blue}}}").replace(", namespace: shop", namespace)
    };
    for (namespace, message) in [
        ("", "error[VST0112]: `namespace` is missing"),
        (", namespace: kube-system", "error[VST0193]: rules do not apply in kube-system"),
        (", namespace: A_b", "error[VST0113]: no namespace can have this name"),
    ] {
        let found = headlines(&load(&text(namespace)).err().unwrap());
        assert!(found[0].contains(message), "{namespace}: {found:?}");
    }
}

#[test]
fn a_namespace_has_a_bounded_number_of_rules_of_bounded_size() {
    let many = |count: usize| {
        let rule =
            |number: usize| own(&format!("r{number}"), &format!("{{pod: {{labels: {{l{number}: x}}}}}}"));
        settings("labels") + &(0..count).map(rule).collect::<String>()
    };
    assert!(load(&many(10)).is_ok());
    let found = headlines(&load(&many(11)).err().unwrap());
    assert!(found[0].ends_with("error[VST0193]: the namespace has more than 10 rules"), "{found:?}");
    let more = many(11).replace("{allowedParts", "{maxRulesPerNamespace: 11, allowedParts");
    assert!(load(&more).is_ok());

    let large = own("large", &format!("{{pod: {{labels: {{a: b}}}}}} # {}", "x".repeat(64 * 1024)));
    let found = headlines(&load(&(settings("labels") + &large)).err().unwrap());
    assert!(found[0].contains("VST0193") && found[0].contains("at most 65536"), "{found:?}");
}

/// One namespace may use a name that another one or the cluster uses.
#[test]
fn names_are_those_of_a_namespace() {
    let cluster = rule("team", "pod: {labels: {cluster: 'yes'}}");
    let mine = own("team", "{pod: {labels: {team: blue}}}");
    let other = mine.replace("namespace: shop", "namespace: stop");
    let rules = rules(&(settings("labels") + &cluster + &mine + &other));
    let result = made(&rules, &web());
    assert_eq!(
        (&result["metadata"]["labels"]["cluster"], &result["metadata"]["labels"]["team"]),
        (&"yes".into(), &"blue".into())
    );
    let found = headlines(&load(&(settings("labels") + &mine + &mine)).err().unwrap());
    assert!(found[0].contains("error[VST0116]: rule `shop/team` exists already"), "{found:?}");
}

#[test]
fn conditions_parameters_and_opt_outs_are_those_of_other_rules() {
    let spec = "{match: {objectSelector: {matchLabels: {app: web}}}, parameters: [{name: level, type: string, default: info}], \
                matchConditions: [{name: small, expression: 'size(object.spec.containers) == 1'}], \
                containerPatches: [{select: {all: true}, env: [{name: LEVEL, value: {$cel: params.level}}]}]}";
    let rules = rules(&(settings("env") + &own("level", spec)));
    assert_eq!(made(&rules, &web())["spec"]["containers"][0]["env"][0]["value"], "info");
    let with = |label: &str| web().replace(r#""app":"web""#, &format!(r#""app":"web",{label}"#));
    for (pod, word) in [
        (with(r#""inject.vestibule.dev/level":"false""#), "opted_out"),
        (with(r#""vestibule.dev/inject":"false""#), "opted_out"),
        (web().replace(r#""app":"web""#, r#""app":"db""#), "labels_not_matched"),
        (web().replace("}]", r#"},{"name":"b"}]"#), "match_condition_false"),
    ] {
        assert_eq!(words(&decide(&rules, &pod)), [word], "{pod}");
    }
}

#[test]
fn an_explanation_has_the_rules_of_the_namespace() {
    let text = settings("labels")
        + &rule("first", "pod: {labels: {first: x}}")
        + &own("team", "{pod: {labels: {team: blue}}}");
    let rules = rules(&text);
    let pod = web();
    let explanation = rules.explain(&in_shop(&pod)).unwrap();
    let names: Vec<_> = explanation.rules.iter().map(|rule| &*rule.rule).collect();
    assert_eq!(names, ["first", "shop/team"]);
    assert!(explanation.rules[1].gates.iter().any(|gate| gate.name == "match.namespaceSelector"));
    assert_eq!(rules.explain(&creation_in("stop", &pod)).unwrap().rules.len(), 1);
}

/// The key that opts out of a rule of the namespace was called misspelt.
#[test]
fn the_key_of_a_rule_of_the_namespace_is_read() {
    let rules = rules(&(settings("labels") + &own("team", "{pod: {labels: {team: blue}}}")));
    let with = |key: &str| web().replace(r#""app":"web""#, &format!(r#""app":"web","{key}":"false""#));
    let read = with("inject.vestibule.dev/team");
    assert_eq!(decide(&rules, &read).warnings, [""; 0]);
    let elsewhere = rules.evaluate(&creation_in("stop", &read)).unwrap();
    assert_eq!(elsewhere.warnings.len(), 1, "{:?}", elsewhere.warnings);
    let misspelt = decide(&rules, &with("inject.vestibule.dev/taem")).warnings;
    assert!(misspelt[0].ends_with("did you mean inject.vestibule.dev/team?"), "{misspelt:?}");
}
