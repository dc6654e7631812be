//! The shipped samples do what their source articles describe.

use vestibule_rules::{NamespaceFacts, Resource, RuleSet, Subject, Verb};

use crate::kit::{applied, creation, decide, evaluate, facts, names, schema, steps, word};

const ENV_TARGET: &str = include_str!("../rules/env-target.yaml");
const NGINX: &str = include_str!("../rules/nginx.yaml");
const ENVOY: &str = include_str!("../rules/envoy.yaml");

const HELLO: &str = r#"{"metadata":{"name":"hello","labels":{"app":"helloworld-go"}},"spec":{"containers":[{"name":"user-container","image":"helloworld-go"}]}}"#;
const ECHO: &str = r#"{"metadata":{"name":"echo","annotations":null},"spec":{"containers":[{"name":"http-echo","image":"hashicorp/http-echo"}]}}"#;

fn load(text: &str) -> RuleSet {
    let rules = RuleSet::load([("sample.yaml", text)], schema()).unwrap();
    assert!(rules.warnings().is_empty());
    rules
}

fn in_namespace<'a>(object: &'a str, facts: &'a NamespaceFacts) -> Subject<'a> {
    creation(object).facts(facts)
}

fn asking(value: &str) -> String {
    ECHO.replace("null", &format!(r#"{{"sidecar-injector-webhook.morven.me/inject":"{value}"}}"#))
}

#[test]
fn env_target_sets_target() {
    let rules = load(ENV_TARGET);
    assert!(!rules.needs_namespace_facts());
    let decision = decide(&rules, HELLO);
    assert_eq!(
        steps(&decision),
        [r#"add /spec/containers/0/env [{"name":"TARGET","value":"Sample Injector v1"}]"#]
    );
    let origin = &decision.changes()[0].origin;
    assert_eq!(&*origin.clause, "containerPatches[0].env[0]");
    assert_eq!(
        ENV_TARGET.lines().nth(origin.line - 1).unwrap().trim(),
        "- {name: TARGET, value: Sample Injector v1}"
    );
    applied(&rules, &creation(HELLO));

    let other = HELLO.replace("helloworld-go\"}}", "other\"}}");
    assert_eq!(word(&decide(&rules, &other)), "labels_not_matched");
}

#[test]
fn env_target_on_deployments() {
    let rules = load(&ENV_TARGET.replace("targets: [pods]", "targets: [deployments]"));
    let object = format!(
        r#"{{"metadata":{{"name":"hello","labels":{{"app":"helloworld-go"}}}},"spec":{{"template":{HELLO}}}}}"#
    );
    for verb in [Verb::Create, Verb::Update] {
        let subject = creation(&object).resource(Resource::Deployments).verb(verb);
        let found = steps(&evaluate(&rules, &subject));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("add /spec/template/spec/containers/0/env ["), "{found:?}");
        applied(&rules, &subject);
    }
    assert_eq!(word(&decide(&rules, HELLO)), "other_resource");
    let leaving = object.replacen(r#""name":"hello","#, r#""deletionTimestamp":"2020-01-01T00:00:00Z","#, 1);
    let subject = creation(&leaving).resource(Resource::Deployments).verb(Verb::Update);
    assert_eq!(word(&evaluate(&rules, &subject)), "excluded_deletion");
}

#[test]
fn nginx_needs_the_opt_in_of_namespace_and_pod() {
    let rules = load(NGINX);
    assert!(rules.needs_namespace_facts());
    let enabled = facts(&[("sidecar-injector", "enabled")]);
    let none = NamespaceFacts::default();
    for value in ["true", "y", "yes", "on"] {
        assert_eq!(word(&evaluate(&rules, &in_namespace(&asking(value), &enabled))), "applied", "{value}");
    }
    assert_eq!(word(&evaluate(&rules, &in_namespace(&asking("true"), &none))), "namespace_not_matched");
    assert_eq!(word(&evaluate(&rules, &in_namespace(ECHO, &enabled))), "not_opted_in");
    assert_eq!(word(&decide(&rules, &asking("true"))), "namespace_unknown");

    let declined = asking("false");
    let decision = evaluate(&rules, &in_namespace(&declined, &enabled));
    assert_eq!((word(&decision), decision.warnings.len()), ("opted_out", 0));

    let unclear = asking("maybe");
    let decision = evaluate(&rules, &in_namespace(&unclear, &enabled));
    assert_eq!((word(&decision), decision.warnings.len()), ("invalid_value", 1));
}

#[test]
fn nginx_creates_each_list_once() {
    let rules = load(NGINX);
    let enabled = facts(&[("sidecar-injector", "enabled")]);
    let pod = asking("true");
    let found = steps(&evaluate(&rules, &in_namespace(&pod, &enabled)));
    assert_eq!(
        found[0],
        r#"add /spec/volumes [{"name":"nginx-conf","configMap":{"name":"nginx-configmap"}}]"#
    );
    assert!(found[1].starts_with(r#"add /spec/containers/- {"name":"sidecar-nginx""#), "{found:?}");
    assert_eq!(found.len(), 2);
    applied(&rules, &in_namespace(&pod, &enabled));
}

/// The form of the article: the sidecar comes after the application.
#[test]
fn envoy_comes_after_http_echo() {
    let regular =
        ENVOY.replace("mode: auto", "mode: regular").replace("position: {initContainers: first}", "");
    let rules = load(&regular);
    let enabled = facts(&[("injection", "enabled")]);
    let result = applied(&rules, &in_namespace(ECHO, &enabled));
    let pod: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(names(&pod["spec"]["containers"]), ["http-echo", "envoy"]);
    assert_eq!(pod["spec"]["containers"][1]["image"], "envoyproxy/envoy:v1.20.3");

    let job = ECHO.replace("\"spec\":{", "\"spec\":{\"restartPolicy\":\"Never\",");
    assert_eq!(word(&evaluate(&rules, &in_namespace(&job, &enabled))), "job_without_native_sidecar");
}

#[test]
fn envoy_can_be_a_native_sidecar() {
    let rules = load(ENVOY);
    let enabled = facts(&[("injection", "enabled")]);
    // A Job's pod gets it as well, because a native sidecar does not keep the Job from completing.
    let job = ECHO.replace(
        "\"spec\":{",
        "\"spec\":{\"restartPolicy\":\"Never\",\"initContainers\":[{\"name\":\"a\"}],",
    );
    let subject = in_namespace(&job, &enabled);
    let found = steps(&evaluate(&rules, &subject));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("add /spec/initContainers/0 "), "{found:?}");
    assert!(found[0].contains(r#""restartPolicy":"Always""#), "{found:?}");
    applied(&rules, &subject);
    assert_eq!(
        word(&evaluate(&rules, &in_namespace(ECHO, &NamespaceFacts::default()))),
        "namespace_not_matched"
    );
}
