//! The values of the request and the owner in expressions.

use vestibule_rules::{Resource, Verb};

use crate::kit::{applied, creation, decide, evaluate, pod, result, rule, rules, words};

fn label(resource: Resource, expression: &str) -> String {
    let spec =
        format!("targets: [{}]\npod: {{labels: {{got: {{$cel: \"{expression}\"}}}}}}", resource.as_str());
    rule("r", &spec)
}

/// The value of `expression`, which a rule writes into the label `got` of a template or pod.
fn got(resource: Resource, metadata: &str, expression: &str) -> String {
    let template = r#"{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[]}}}"#;
    let spec = match resource {
        Resource::Pods => r#"{"containers":[]}"#.to_owned(),
        Resource::CronJobs => format!(r#"{{"jobTemplate":{{"spec":{template}}}}}"#),
        _ => template.to_owned(),
    };
    let object = format!(r#"{{"metadata":{{"labels":{{"app":"web"}}{metadata}}},"spec":{spec}}}"#);
    let made = applied(
        &rules(&label(resource, expression)),
        &creation(&object).resource(resource).verb(Verb::Create),
    );
    let (_, behind) =
        made.split_once(r#""got":""#).unwrap_or_else(|| panic!("{resource:?} {expression}: {made}"));
    behind.split('"').next().unwrap().to_owned()
}

#[test]
fn an_object_that_nothing_controls_is_an_owner_of_its_own_kind() {
    for resource in Resource::ALL.iter().copied() {
        assert_eq!(got(resource, r#","name":"web""#, "owner.kind"), resource.kind());
        assert_eq!(got(resource, r#","name":"web""#, "owner.name"), "web");
        assert_eq!(got(resource, r#","generateName":"web-""#, "owner.name"), "web");
    }
}

/// `match.ownerKinds` and `owner.kind` have the same value.
#[test]
fn the_owner_is_the_same_to_match_and_to_expressions() {
    for (resource, owner, hash, kind) in [
        (Resource::Pods, "ReplicaSet", r#","labels":{"app":"web","pod-template-hash":"77f"}"#, "Deployment"),
        (Resource::Pods, "ReplicaSet", r#","labels":{"app":"web","pod-template-hash":""}"#, "ReplicaSet"),
        (Resource::Pods, "Job", "", "Job"),
        (Resource::Jobs, "CronJob", "", "CronJob"),
    ] {
        let owned = format!(
            r#","name":"x"{hash},"ownerReferences":[{{"kind":"{owner}","name":"web-77f","controller":true}}]"#
        );
        assert_eq!(got(resource, &owned, "owner.kind"), kind, "{resource:?}");
        if kind != "CronJob" {
            let matching = label(resource, "owner.kind").replace(
                "match: {objectSelector: {matchLabels: {app: web}}}",
                &format!("match: {{objectSelector: {{matchLabels: {{app: web}}}}, ownerKinds: [{kind}]}}"),
            );
            let object =
                format!(r#"{{"metadata":{{"labels":{{"app":"web"}}{owned}}},"spec":{{"containers":[]}}}}"#);
            let decision = evaluate(&rules(&matching), &creation(&object).resource(resource));
            assert_eq!(words(&decision), ["applied"], "{kind}");
        }
    }
}

#[test]
fn the_group_of_a_resource_is_its_own() {
    for resource in Resource::ALL.iter().copied() {
        let wanted = format!("'{}' == request.resource.group ? 'yes' : 'no'", resource.group());
        assert_eq!(got(resource, "", &wanted), "yes", "{resource:?}");
    }
}

/// At the beginning of the second turn, the object has two labels: the third rule read that number although the API server sent one
/// label and will get three.
#[test]
fn request_object_is_the_same_in_every_turn() {
    let second = rule(
        "a",
        "matchConditions: [{name: c0, expression: 'has(object.metadata.labels.one)'}]\npod: {labels: {two: x}}",
    );
    let first = rule("b", "pod: {labels: {one: x}}");
    let third = rule(
        "c",
        "matchConditions: [{name: c0, expression: 'size(request.object.metadata.labels) == 2'}]\npod: {annotations: {seen: x}}",
    );
    let all = rules(&(second + &first + &third));
    let web = pod(r#"{"containers":[]}"#);
    assert_eq!(words(&decide(&all, &web)), ["applied", "applied", "match_condition_false"]);
    assert!(result(&all, &web)["metadata"]["annotations"].get("seen").is_none());
}
