//! Selection by exemptions, owners and rollouts, and warnings about misspelt keys.

use serde_json::json;
use vestibule_rules::{Outcome, Resource, RuleSet};

use crate::kit::{creation, decide, evaluate, facts, rule, rules, settings, word};

const CHANGE: &str = "pod: {labels: {x: y}}";

fn owned(kind: &str, name: &str, hash: &str) -> String {
    json!({
        "metadata": {
            "labels": {"app": "web", "pod-template-hash": hash},
            "ownerReferences": [{"kind": "Other", "name": "x"}, {"kind": kind, "name": name, "uid": "u", "controller": true}],
        },
        "spec": {},
    })
    .to_string()
}

#[test]
fn an_exemption_applies_if_all_its_conditions_hold() {
    let text = settings(
        "{exemptions: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}, {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a, quiet: \"yes\"}}, \
         objectSelector: {matchLabels: {app: web}}, users: [\"system:serviceaccount:ci:*\", root], reason: builds}]}",
    ) + &rule("r", &format!("required: true\n{CHANGE}"));
    let rules = rules(&text);
    assert!(rules.needs_namespace_facts(), "an exemption asks");
    let pod = r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#;
    let quiet = facts(&[("quiet", "yes")]);
    let user = |name: &str| json!({"username": name, "groups": []}).to_string();
    let (robot, root, alice) = (user("system:serviceaccount:ci:bot"), user("root"), user("alice"));
    let subject = creation(pod).facts(&quiet).user(Some(&robot));
    let decision = evaluate(&rules, &subject);
    assert_eq!(word(&decision), "exempted");
    let Outcome::Skipped { sentence, .. } = &decision.verdicts[0].outcome else { panic!("skipped") };
    assert_eq!(&**sentence, "an administrator exempts it: builds (exemptions[1], rules.yaml:5)");
    assert_eq!(word(&evaluate(&rules, &subject.user(Some(&root)))), "exempted");
    let loud = facts(&[]);
    let bare = r#"{"metadata":{"labels":{"app":"api"}},"spec":{}}"#;
    for other in [
        subject.user(Some(&alice)),
        subject.user(None),
        subject.facts(&loud),
        subject.facts(None),
        subject.namespace("team-b"),
    ] {
        assert_eq!(word(&evaluate(&rules, &other)), "applied");
    }
    assert_eq!(word(&evaluate(&rules, &subject.object(bare))), "labels_not_matched");
    assert_eq!(word(&evaluate(&rules, &subject.namespace("other").user(None))), "exempted");
}

#[test]
fn the_own_namespace_is_excluded_by_default() {
    let rule = rule("r", CHANGE);
    let pod = r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#;
    let own = |text: &str| rules(text).with_own_namespace("team-a");
    assert_eq!(word(&decide(&own(&rule), pod)), "excluded_own_namespace");
    let text = settings("{ownNamespace: inject}") + &rule;
    assert_eq!(word(&decide(&own(&text), pod)), "applied");
    let ours = r#"{"metadata":{"labels":{"app":"web","vestibule.dev/injector":"true"}},"spec":{}}"#;
    assert_eq!(word(&decide(&own(&text), ours)), "excluded_own_pod");
}

#[test]
fn without_native_sidecars_auto_is_regular() {
    let rule = rule("r", "sidecars: [{name: s, image: i}]");
    let pod = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app"}]}}"#;
    let list = |rules: &RuleSet| decide(rules, pod).changes()[0].operation.path().to_string();
    assert_eq!(list(&rules(&rule)), "/spec/initContainers");
    assert_eq!(list(&rules(&(rule + &settings("{nativeSidecars: false}")))), "/spec/containers/-");
}

#[test]
fn kinds_of_owners() {
    let of = |kinds: &str| {
        rules(&rule("r", CHANGE).replace("match: {", &format!("match: {{ownerKinds: [{kinds}], ")))
    };
    let bare =
        r#"{"metadata":{"labels":{"app":"web"},"ownerReferences":[{"kind":"Job","name":"j"}]},"spec":{}}"#;
    let deployed = owned("ReplicaSet", "web-5d4f", "5d4f");
    let replicated = owned("ReplicaSet", "web-5d4f", "other");
    for (kinds, object, expected) in [
        ("Deployment", deployed.as_str(), "applied"),
        ("ReplicaSet", &deployed, "applied"),
        ("Deployment", &replicated, "owner_kind_not_matched"),
        ("ReplicaSet, Job", &replicated, "applied"),
        ("Job", &deployed, "owner_kind_not_matched"),
        ("none", &deployed, "owner_kind_not_matched"),
        ("none", bare, "applied"),
        ("Job", bare, "owner_kind_not_matched"),
    ] {
        assert_eq!(word(&decide(&of(kinds), object)), expected, "{kinds}: {object}");
    }
}

#[test]
fn a_rollout_reaches_workloads_not_pods() {
    let of = |percent: u8| rules(&rule("r", &format!("rollout: {{percent: {percent}}}\n{CHANGE}")));
    let (none, half, all) = (of(0), of(50), of(100));
    let bare = r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#;
    assert_eq!(word(&decide(&none, bare)), "applied", "a pod without an owner is inside");
    let mut reached = 0;
    for number in 0..200 {
        let name = format!("web-{number}");
        let pods = ["5d4f", "77ab"].map(|hash| owned("ReplicaSet", &format!("{name}-{hash}"), hash));
        assert_eq!(word(&decide(&none, &pods[0])), "not_rolled_out");
        assert_eq!(word(&decide(&all, &pods[0])), "applied");
        let words = pods.each_ref().map(|pod| word(&decide(&half, pod)));
        assert_eq!(words[0], words[1], "every ReplicaSet of a Deployment counts as the Deployment");
        reached += usize::from(words[0] == "applied");
    }
    assert!((70..=130).contains(&reached), "{reached} of 200");
    let nameless = owned("ReplicaSet", "", "");
    assert!(matches!(word(&decide(&half, &nameless)), "applied" | "not_rolled_out"));
}

/// The rollout includes a Deployment and the pods of its ReplicaSets together.
#[test]
fn a_rollout_is_the_same_for_a_workload_and_its_pods() {
    let text = rule("r", &format!("targets: [pods, deployments]\nrollout: {{percent: 50}}\n{CHANGE}"));
    let rules = rules(&text);
    for number in 0..50 {
        let name = format!("web-{number}");
        let pod = owned("ReplicaSet", &format!("{name}-5d4f"), "5d4f");
        let object =
            json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {}}}})
                .to_string();
        let deployment = creation(&object).resource(Resource::Deployments);
        assert_eq!(word(&decide(&rules, &pod)), word(&evaluate(&rules, &deployment)), "{name}");
    }
}

#[test]
fn misspelt_keys_are_warnings() {
    let text = rule("nginx", &format!("optIn: pod\n{CHANGE}")) + &rule("envoy", CHANGE);
    let rules = rules(&text);
    let warnings = |key: &str| {
        let pod = json!({"metadata": {"labels": {"app": "web"}, "annotations": {key: "true"}}, "spec": {}});
        decide(&rules, &pod.to_string()).warnings
    };
    for (key, meant) in [
        ("inject.vestibule.dev/ngnix", "inject.vestibule.dev/nginx"),
        ("inject.vestibule.dev/Envoy", "inject.vestibule.dev/envoy"),
        ("inject.vestibul.dev/nginx", "inject.vestibule.dev/nginx"),
        ("inejct.vestibule.dev/nginx", "inject.vestibule.dev/nginx"),
        ("vestibule.dev/injct", "vestibule.dev/inject"),
        ("vestibule.dev/Inject", "vestibule.dev/inject"),
        ("vestibule.de/inject", "vestibule.dev/inject"),
        ("inject.vestibule.dev/inject", "vestibule.dev/inject"),
        ("vestibule.dev/inject-nginx", "inject.vestibule.dev/nginx"),
        ("vestibule.dev/inject.ngnix", "inject.vestibule.dev/nginx"),
        ("vestibule.dev/nginx", "inject.vestibule.dev/nginx"),
    ] {
        let expected = format!("no rule reads {key} of the object; did you mean {meant}?");
        assert_eq!(warnings(key), [expected], "{key}");
    }
    assert_eq!(
        warnings("inject.vestibule.dev/prometheus"),
        ["no rule reads inject.vestibule.dev/prometheus of the object: there is no rule of this name"]
    );
    for fine in [
        "vestibule.dev/inject",
        "inject.vestibule.dev/nginx",
        "vestibule.dev/injected",
        "vestibule.dev/ca-generation",
        "vestibule.example.com/inject",
        "app.kubernetes.io/name",
        "inject",
        "sidecar.istio.io/inject",
        "vestibule.dev/",
    ] {
        assert_eq!(warnings(fine), [""; 0], "{fine}");
    }
    let labelled = facts(&[("vestibule.dev/injct", "true"), ("vestibule.dev/injector", "x")]);
    let pod = r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#;
    assert_eq!(
        evaluate(&rules, &creation(pod).facts(&labelled)).warnings,
        ["no rule reads vestibule.dev/injct of the namespace; did you mean vestibule.dev/inject?"]
    );
}

/// The time for misspelt keys does not grow with their number.
#[test]
fn a_thousand_misspelt_keys_are_four_warnings() {
    let mut annotations = serde_json::Map::new();
    for number in 0..1_000 {
        annotations.insert(format!("inject.vestibule.dev/r{number}"), json!("true"));
    }
    let pod = json!({"metadata": {"labels": {"app": "web"}, "annotations": annotations}, "spec": {}});
    let decision = decide(&rules(&rule("nginx", CHANGE)), &pod.to_string());
    assert_eq!((word(&decision), decision.warnings.len()), ("applied", 4));
}
