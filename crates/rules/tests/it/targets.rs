//! Workloads: rules read and change the pod template.

use vestibule_rules::{Resource, RuleSet, Subject, Verb};

use crate::kit::{applied, codes, creation, evaluate, load, rule, rules, steps, word};

const ENV: &str = "containerPatches:\n- select: {all: true}\n  env: [{name: A, value: b}]";

fn everywhere(spec: &str) -> RuleSet {
    let all: Vec<&str> = Resource::ALL.iter().map(|resource| resource.as_str()).collect();
    rules(&rule("r", &format!("targets: [{}]\n{spec}", all.join(", "))))
}

/// An object of the kind `resource` with a template of these members.
fn workload(resource: Resource, metadata: &str, selector: &str, template: &str) -> String {
    let spec = format!(r#"{{"selector":{selector},"template":{template}}}"#);
    let spec = match resource {
        Resource::CronJobs => format!(r#"{{"jobTemplate":{{"spec":{spec}}}}}"#),
        _ => spec,
    };
    format!(r#"{{"metadata":{{"labels":{{"app":"workload"}}{metadata}}},"spec":{spec}}}"#)
}

const TEMPLATE: &str = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app"}]}}"#;

#[test]
fn templates_are_changed_where_they_stand() {
    let rules = everywhere(ENV);
    for resource in Resource::ALL.iter().copied().filter(|one| *one != Resource::Pods) {
        let object = workload(resource, "", "{}", TEMPLATE);
        let subject = creation(&object).resource(resource);
        let template =
            if resource == Resource::CronJobs { "/spec/jobTemplate/spec/template" } else { "/spec/template" };
        let wanted = format!(r#"add {template}/spec/containers/0/env [{{"name":"A","value":"b"}}]"#);
        assert_eq!(steps(&evaluate(&rules, &subject)), [wanted], "{resource:?}");
        applied(&rules, &subject);

        let update = word(&evaluate(&rules, &subject.verb(Verb::Update)));
        // The API server refuses any change of a Job's template.
        let wanted = if resource == Resource::Jobs { "excluded_operation" } else { "applied" };
        assert_eq!(update, wanted, "{resource:?}");
        let leaving = workload(resource, r#","deletionTimestamp":"2020-01-01T00:00:00Z""#, "{}", TEMPLATE);
        assert_eq!(word(&evaluate(&rules, &subject.object(&leaving))), "excluded_deletion", "{resource:?}");
    }
}

#[test]
fn the_template_of_a_controlled_replica_set_is_not_changed() {
    let rules = everywhere(ENV);
    let owned = r#","ownerReferences":[{"kind":"Deployment","name":"web","controller":true}]"#;
    for (resource, expected) in [(Resource::ReplicaSets, "excluded_controlled"), (Resource::Jobs, "applied")]
    {
        let object = workload(resource, owned, "{}", TEMPLATE);
        assert_eq!(word(&evaluate(&rules, &creation(&object).resource(resource))), expected);
    }
}

#[test]
fn labels_of_the_selector_are_never_written() {
    let label = everywhere("onConflict: override\npod: {labels: {tier: ours}}");
    let theirs = r#"{"metadata":{"labels":{"app":"web","tier":"theirs"}},"spec":{}}"#;
    let ours = r#"{"metadata":{"labels":{"app":"web","tier":"ours"}},"spec":{}}"#;
    let none = r#"{"metadata":{"labels":{"app":"web"}},"spec":{}}"#;
    let exact = r#"{"matchLabels":{"tier":"theirs"}}"#;
    let expressed = r#"{"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}"#;
    for (selector, template, expected) in [
        (exact, theirs, "error"),
        (expressed, none, "error"),
        (expressed, theirs, "error"),
        (exact, ours, "unchanged"),
        ("{}", theirs, "applied"),
        ("null", none, "applied"),
    ] {
        for resource in [Resource::StatefulSets, Resource::CronJobs] {
            let object = workload(resource, "", selector, template);
            let subject: Subject<'_> = creation(&object).resource(resource);
            assert_eq!(word(&evaluate(&label, &subject)), expected, "{resource:?} {selector} {template}");
        }
    }
}

/// The controller adds a volume for each claim template.
#[test]
fn the_claims_of_a_stateful_set_are_volumes() {
    let mount = "targets: [statefulsets]\ncontainerPatches:\n- select: {all: true}\n  volumeMounts: [{name: data, mountPath: /backup}]";
    let rules = rules(&rule("r", mount));
    let outcome = |claims: &str| {
        let object = format!(
            r#"{{"metadata":{{"name":"db","labels":{{"app":"web"}}}},"spec":{{{claims}"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"app"}}]}}}}}}}}"#
        );
        word(&rules.evaluate(&Subject::new(&object, Resource::StatefulSets, Verb::Create, "a")).unwrap())
    };
    assert_eq!(outcome(r#""volumeClaimTemplates":[{"metadata":{"name":"data"}}],"#), "applied");
    assert_eq!(outcome(r#""volumeClaimTemplates":[{"metadata":{"name":"logs"}}],"#), "error");
    assert_eq!(outcome(""), "error");
}

const KEY: &str = "inject.vestibule.dev/r";

/// A Deployment whose own metadata and whose template's metadata are these.
fn deployment(own: &str, template: &str) -> String {
    format!(
        r#"{{"metadata":{own},"spec":{{"template":{{"metadata":{template},"spec":{{"containers":[]}}}}}}}}"#
    )
}

/// Istio and Linkerd read the pod template too.
#[test]
fn selectors_opt_in_and_parameters_read_the_pod_template() {
    let spec = "optIn: pod\nparameters: [{name: team, type: string, annotation: team}]\ntargets: [deployments]\npod: {labels: {team: {$cel: params.team}}}";
    let asks = format!(r#"{{"labels":{{"app":"web"}},"annotations":{{"{KEY}":"true","team":"blue"}}}}"#);
    let silent = r#"{"labels":{"app":"other"}}"#;
    for (metadata_of, own, template) in
        [("podTemplate", silent, asks.as_str()), ("workload", asks.as_str(), silent)]
    {
        let rules = rules(&rule("r", &format!("metadataOf: {metadata_of}\n{spec}")));
        let outcome = |own: &str, template: &str| {
            let object = deployment(own, template);
            let decision = evaluate(&rules, &creation(&object).resource(Resource::Deployments));
            (word(&decision), decision.warnings.join(";"))
        };
        assert_eq!(outcome(own, template), ("applied", String::new()), "{metadata_of}");
        assert_eq!(outcome(template, own).0, "labels_not_matched", "{metadata_of}");
    }
    let rules = rules(&rule("r", spec));
    let object = deployment(&asks, r#"{"labels":{"app":"web"}}"#);
    let decision = evaluate(&rules, &creation(&object).resource(Resource::Deployments));
    assert_eq!(word(&decision), "not_opted_in");
    let sentence = "no rule reads inject.vestibule.dev/r of the object: rules read the pod template, unless they have `metadataOf: workload`";
    assert_eq!(decision.warnings, [sentence]);
}

#[test]
fn metadata_of_needs_a_workload() {
    let found = load(&rule("r", "metadataOf: workload\npod: {labels: {a: b}}")).err().unwrap();
    assert_eq!(found[0].code().id, "VST0113", "{found:?}");
}

/// A rule that writes a label of the template which it reads there would change its own match.
#[test]
fn labels_of_a_template_that_rules_read_are_not_written() {
    let codes = |spec: &str| codes(&rule("r", spec));
    assert_eq!(codes("targets: [deployments]\npod: {labels: {app: db}}"), ["VST0123"]);
    assert!(codes("targets: [deployments]\nmetadataOf: workload\npod: {labels: {app: db}}").is_empty());
}

/// The controller replaced the rule's volume by the claim, so that a sidecar wrote into the user's data.
#[test]
fn a_volume_that_a_claim_template_replaces_is_a_conflict() {
    let spec = "targets: [statefulsets]\nvolumes: [{name: data, emptyDir: {}}]\nsidecars: [{name: s, image: s, volumeMounts: [{name: data, mountPath: /data}]}]";
    let object = r#"{"metadata":{"name":"db"},"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"}}],"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app"}]}}}}"#;
    let decide = |spec: &str| {
        let subject = Subject::new(object, Resource::StatefulSets, Verb::Create, "a");
        rules(&rule("r", spec)).evaluate(&subject).unwrap()
    };
    let decision = decide(spec);
    assert_eq!(word(&decision), "conflict");
    assert!(decision.warnings[0].contains("volume `data` exists already, from a claim template"));
    assert_eq!(word(&decide(&format!("onConflict: override\n{spec}"))), "conflict");
    // With `keep`, the sidecar mounts the claim.
    let kept = decide(&spec.replace("emptyDir: {}", "emptyDir: {}, onConflict: keep"));
    assert_eq!(word(&kept), "applied");
    assert!(!kept.patch().to_json().contains("emptyDir"));
}
