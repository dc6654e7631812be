//! A rule that would make a valid pod invalid is not applied. Each row is of a pod that kube-apiserver 1.36 refused.

mod rows;

use vestibule_rules::{Resource, Subject, Verb};

use crate::growth::takes_less_than;
use crate::kit::{decide, pod, rule, rules, word};
use rows::{ALIKE, OF_CONTAINERS, object, refused};

/// A rule for pods of any operating system.
fn any_system(lines: &str) -> vestibule_rules::RuleSet {
    rules(&rule("r", lines).replace("match: {", "match: {os: any, "))
}

#[test]
fn fields_that_exclude_each_other_are_an_error_of_the_rule() {
    for (lines, spec, container, why) in refused() {
        let decision = decide(&any_system(&lines), &object(spec, container));
        assert_eq!((word(&decision), decision.patch().len()), ("error", 0), "{lines} {spec} {container}");
        assert!(decision.warnings[0].contains(why), "{why}: {:?}", decision.warnings);
    }
}

#[test]
fn rules_that_look_alike_are_applied() {
    for (lines, spec, container) in ALIKE {
        let decision = decide(&any_system(lines), &object(spec, container));
        assert_eq!(word(&decision), "applied", "{lines} {spec} {container}: {:?}", decision.warnings);
    }
}

/// The API server may accept such a pod: in an update, or because its version does not make the check.
#[test]
fn an_error_that_the_pod_has_already_is_not_the_rules() {
    for (lines, spec, container, expected) in [
        (
            "containerPatches: [{select: {names: [app]}, volumeDevices: [{name: v, devicePath: /e}]}]",
            r#""hostUsers":false"#,
            r#""volumeDevices":[{"name":"u","devicePath":"/d"}]"#,
            "applied",
        ),
        (
            "containerPatches: [{select: {names: [other]}, volumeDevices: [{name: v, devicePath: /e}]}]",
            r#""hostUsers":false"#,
            r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
            "error",
        ),
        (
            "pod: {spec: {setHostnameAsFQDN: true}}",
            r#""hostnameOverride":"h","hostNetwork":true"#,
            "",
            "applied",
        ),
        (
            "sidecars: [{name: s, image: i, ports: [{containerPort: 80}]}]",
            r#""hostNetwork":true"#,
            "",
            "applied",
        ),
    ] {
        let decision = decide(&any_system(lines), &object(spec, container));
        assert_eq!(word(&decision), expected, "{lines} {spec} {container}: {:?}", decision.warnings);
    }
}

/// The members of the pod's specification and of its container, with lists made of an item for each number.
type Lists = fn(&dyn Fn(&str) -> String) -> (String, String);

/// Regression test: the checks took time for each pair of a device and a mount, of a request and a limit, and of claims.
#[test]
fn long_lists_are_checked_in_linear_time() {
    let evaluate = |fields: &str, of: Lists, count: usize| {
        let many = |item: &str| {
            (0..count).map(|number| item.replace('#', &number.to_string())).collect::<Vec<_>>().join(",")
        };
        let (spec, container) = of(&many);
        let rules = any_system(&format!("containerPatches: [{{{fields}}}]"));
        let object = object(&spec, &container);
        move || assert_eq!(word(&decide(&rules, &object)), "applied")
    };
    let devices: Lists = |many| {
        let (devices, mounts) =
            (many(r##"{"name":"d#","devicePath":"/#"}"##), many(r##"{"name":"m#","mountPath":"/m/#"}"##));
        (String::new(), format!(r#""volumeDevices":[{devices}],"volumeMounts":[{mounts}]"#))
    };
    let resources: Lists = |many| {
        let (amounts, claims) = (many(r##""a/#":"1""##), many(r##"{"name":"c#"}"##));
        (
            format!(r#""resources":{{"limits":{{{amounts}}}}},"resourceClaims":[{claims}]"#),
            format!(r#""resources":{{"requests":{{{amounts}}},"limits":{{{amounts}}},"claims":[{claims}]}}"#),
        )
    };
    let claims_of_each: Lists = |many| {
        let others = many(r##"{"name":"o#","image":"i","resources":{"claims":[{"name":"c#"}]}}"##);
        (
            format!(r#""resourceClaims":[{}],"initContainers":[{others}]"#, many(r##"{"name":"c#"}"##)),
            String::new(),
        )
    };
    let errors: Lists = |many| {
        let resources = r#"{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}"#;
        let others = many(&format!(r##"{{"name":"o#","image":"i","resources":{resources}}}"##));
        (format!(r#""initContainers":[{others}]"#), String::new())
    };
    let limits = "resources: {limits: {memory: 1Gi}}";
    for (select, fields, of) in [
        ("names: [app]", "volumeMounts: [{name: w, mountPath: /n}]", devices),
        ("names: [app]", limits, resources),
        ("all: true, init: true", limits, claims_of_each),
        ("all: true, init: true", limits, errors),
    ] {
        let evaluate = |count| evaluate(&format!("select: {{{select}}}, {fields}"), of, count);
        takes_less_than(8, evaluate(1_000), evaluate(4_000));
    }
}

/// The same fields of an injected container.
#[test]
fn injected_containers_fit_the_pod() {
    for (fields, spec, _, why) in OF_CONTAINERS.iter().take(8) {
        let lines = format!("sidecars: [{{name: s, image: i, {fields}}}]");
        let rules = any_system(&lines);
        let decision = decide(&rules, &object(spec, ""));
        assert_eq!((word(&decision), decision.patch().len()), ("error", 0), "{lines}");
        assert!(decision.warnings[0].contains(why), "{why}: {:?}", decision.warnings);
    }
    // A sidecar without an option of Windows beside containers that are processes of the node.
    let process = r#"{"containers":[{"name":"app","securityContext":{"windowsOptions":{"hostProcess":true}}}],"hostNetwork":true}"#;
    let sidecar = any_system("sidecars: [{name: s, image: i}]");
    assert_eq!(word(&decide(&sidecar, &pod(process))), "error");
    let of_pod = process.replace(
        "\"containers\"",
        r#""securityContext":{"windowsOptions":{"hostProcess":true}},"containers""#,
    );
    assert_eq!(word(&decide(&sidecar, &pod(&of_pod))), "applied");
}

/// The other half of each pair may come from the same rule.
#[test]
fn one_rule_may_write_both_fields() {
    for lines in [
        "pod: {spec: {dnsPolicy: None, replace: [dnsConfig], dnsConfig: {nameservers: [10.0.0.1]}}}",
        "pod: {spec: {resourceClaims: [{name: gpu, resourceClaimName: c}]}}\ncontainerPatches: [{select: {all: true}, resources: {claims: [{name: gpu}]}}]",
        "containerPatches: [{select: {all: true}, securityContext: {privileged: true}, volumeMounts: [{name: w, mountPath: /m, mountPropagation: Bidirectional}]}]",
        "pod: {spec: {hostUsers: false}}\ncontainerPatches: [{select: {all: true}, securityContext: {procMount: Unmasked}}]",
    ] {
        let rules = any_system(&format!("onConflict: override\n{lines}"));
        assert_eq!(word(&decide(&rules, &object("", ""))), "applied", "{lines}");
    }
}

#[test]
fn pods_of_workloads_end_as_their_kind_demands() {
    let of = |field: &str| {
        let lines = format!("targets: [deployments, jobs]\nonConflict: override\npod: {{spec: {{{field}}}}}");
        rules(&rule("r", &lines))
    };
    for (field, of_deployments, of_jobs) in [
        ("activeDeadlineSeconds: 9", "error", "applied"),
        ("restartPolicy: OnFailure", "error", "applied"),
        ("restartPolicy: Always", "unchanged", "error"),
    ] {
        let rules = of(field);
        for (resource, policy, expected) in
            [(Resource::Deployments, "Always", of_deployments), (Resource::Jobs, "Never", of_jobs)]
        {
            let object = format!(
                r#"{{"spec":{{"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"restartPolicy":"{policy}","containers":[{{"name":"app"}}]}}}}}}}}"#
            );
            let decision = rules.evaluate(&Subject::new(&object, resource, Verb::Create, "n")).unwrap();
            assert_eq!(word(&decision), expected, "{field} {resource:?}");
        }
    }
}

/// The API server gives a pod of its own, but no template, the requests of its containers.
#[test]
fn huge_pages_of_a_template_need_a_resource_of_the_template() {
    let lines = "targets: [pods, deployments]\npod: {spec: {resources: {limits: {hugepages-2Mi: 2Mi}}}}";
    let rules = rules(&rule("r", lines));
    let pod = pod(r#"{"containers":[{"name":"app","resources":{"limits":{"cpu":"2"}}}]}"#);
    assert_eq!(word(&decide(&rules, &pod)), "applied");
    let deployment = format!(r#"{{"spec":{{"template":{pod}}}}}"#);
    let subject = Subject::new(&deployment, Resource::Deployments, Verb::Create, "n");
    assert_eq!(word(&rules.evaluate(&subject).unwrap()), "error");
}

#[test]
fn a_shared_profile_is_compared_with_annotations_in_templates_only() {
    let lines = "targets: [pods, deployments]\npod: {annotations: {container.apparmor.security.beta.kubernetes.io/app: runtime/default}}";
    let rules = rules(&rule("r", lines));
    let spec =
        r#"{"securityContext":{"appArmorProfile":{"type":"Unconfined"}},"containers":[{"name":"app"}]}"#;
    assert_eq!(word(&decide(&rules, &pod(spec))), "applied");
    let deployment = format!(r#"{{"spec":{{"template":{}}}}}"#, pod(spec));
    let subject = Subject::new(&deployment, Resource::Deployments, Verb::Create, "n");
    assert_eq!(word(&rules.evaluate(&subject).unwrap()), "error");
}
