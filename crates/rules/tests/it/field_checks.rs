//! A rule that would make a valid pod invalid is not applied. Each row is of a pod that kube-apiserver 1.36 refused.

use vestibule_rules::{Resource, Subject, Verb};

use crate::growth::takes_less_than;
use crate::kit::{decide, pod, rule, rules, word};

/// The rule, the pod's specification beside its container `app`, the members of the container, and the message.
type Row = (&'static str, &'static str, &'static str, &'static str);

const OF_PODS: &[Row] = &[
    ("pod: {spec: {schedulingGates: [{name: a.b/c}]}}", r#""nodeName":"n""#, "", "`schedulingGates`"),
    (
        "pod: {spec: {hostUsers: false}}",
        r#""hostNetwork":true"#,
        "",
        "`hostUsers: false` and `hostNetwork: true`",
    ),
    (
        "pod: {spec: {hostUsers: false}}",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
        "`volumeDevices`",
    ),
    ("pod: {spec: {shareProcessNamespace: true}}", r#""hostPID":true"#, "", "exclude each other"),
    ("pod: {spec: {setHostnameAsFQDN: true}}", r#""hostnameOverride":"h""#, "", "exclude each other"),
    (
        "pod: {spec: {replace: [securityContext], securityContext: {sysctls: [{name: net.core.somaxconn, value: '9'}]}}}",
        r#""hostNetwork":true"#,
        "",
        "cannot set the sysctl",
    ),
    ("pod: {spec: {hostNetwork: true}}", "", r#""ports":[{"containerPort":80,"hostPort":81}]"#, "`hostPort`"),
    ("pod: {spec: {dnsPolicy: None}}", r#""dnsPolicy":"ClusterFirst""#, "", "`nameservers`"),
    (
        "pod: {spec: {terminationGracePeriodSeconds: 5}}",
        "",
        r#""lifecycle":{"preStop":{"sleep":{"seconds":9}}}"#,
        "would sleep 9 s in `preStop`",
    ),
    (
        "pod: {spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}",
        "",
        "",
        "name different profiles",
    ),
    (
        "pod: {annotations: {container.apparmor.security.beta.kubernetes.io/gone: runtime/default}}",
        "",
        "",
        "container `gone`",
    ),
    ("pod: {spec: {hostUsers: false}}", r#""os":{"name":"windows"}"#, "", "Windows cannot have `hostUsers`"),
    (
        "pod: {spec: {securityContext: {runAsUser: 7}}}",
        r#""os":{"name":"windows"}"#,
        "",
        "Windows cannot have `runAsUser`",
    ),
    (
        "pod: {spec: {securityContext: {windowsOptions: {runAsUserName: u}}}}",
        r#""os":{"name":"linux"}"#,
        "",
        "Linux cannot have `windowsOptions`",
    ),
];

/// Parts that conflict with parts of the pod, with `onConflict: override`.
const WITH_OVERRIDE: &[Row] = &[
    (
        "volumes: [{name: v, emptyDir: {}}]",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
        "volume `v` is not a",
    ),
    (
        "containerPatches: [{select: {all: true}, ports: [{containerPort: 80, hostPort: 80}]}]",
        "",
        "",
        "port 80/TCP of the node",
    ),
    (
        "sidecars: [{name: s, image: i, mode: regular, ports: [{containerPort: 81, hostPort: 80}]}]",
        "",
        r#""ports":[{"containerPort":80,"hostPort":80}]"#,
        "port 80/TCP of the node",
    ),
    (
        "containerPatches: [{select: {names: [app]}, ports: [{containerPort: 81, name: web}]}]",
        "",
        r#""ports":[{"containerPort":80,"name":"web"},{"containerPort":81}]"#,
        "would be named `web`",
    ),
    (
        "pod: {spec: {resources: {limits: {cpu: 1}}}}",
        "",
        r#""resources":{"requests":{"cpu":"2"}}"#,
        "request more `cpu` than the pod",
    ),
];

const OF_CONTAINERS: &[Row] = &[
    (
        "volumeMounts: [{name: v, mountPath: /m, mountPropagation: Bidirectional}]",
        "",
        "",
        "privileged container",
    ),
    ("resources: {claims: [{name: gpu}]}", "", "", "no resource claim `gpu`"),
    ("resources: {limits: {hugepages-2Mi: 2Mi}}", "", "", "`cpu` or `memory`"),
    ("securityContext: {procMount: Unmasked}", "", "", "`hostUsers: false`"),
    ("securityContext: {runAsUser: 7}", r#""os":{"name":"windows"}"#, "", "Windows cannot have `runAsUser`"),
    (
        "securityContext: {windowsOptions: {hostProcess: true}}",
        r#""hostNetwork":true"#,
        "",
        "alike in `hostProcess`",
    ),
    ("securityContext: {appArmorProfile: {type: RuntimeDefault}}", "", "", "name different profiles"),
    ("volumeDevices: [{name: w, devicePath: /d}]", "", "", "volume `w` is not a"),
    (
        "volumeMounts: [{name: v, mountPath: /m}]",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
        "is used twice",
    ),
    ("ports: [{containerPort: 80, hostPort: 81}]", r#""hostNetwork":true"#, "", "`hostPort`"),
    ("securityContext: {seccompProfile: {type: RuntimeDefault}}", "", "", "name different profiles"),
    (
        "replace: [resizePolicy], resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]",
        r#""restartPolicy":"Never""#,
        "",
        "`resizePolicy`",
    ),
];

/// A pod with an annotation of a profile for its container `app`.
fn object(spec: &str, container: &str) -> String {
    let member = |text: &str| if text.is_empty() { String::new() } else { format!(",{text}") };
    let (spec, container) = (member(spec), member(container));
    let profiles = r#""container.apparmor.security.beta.kubernetes.io/app":"unconfined","container.seccomp.security.alpha.kubernetes.io/app":"unconfined","seccomp.security.alpha.kubernetes.io/pod":"unconfined""#;
    format!(
        r#"{{"metadata":{{"labels":{{"app":"web"}},"annotations":{{{profiles}}}}},"spec":{{"containers":[{{"name":"app","image":"i"{container}}}, {{"name":"other","image":"i"}}],"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"c"}}}},{{"name":"w","emptyDir":{{}}}}]{spec}}}}}"#
    )
}

/// A rule for pods of any operating system.
fn any_system(lines: &str) -> vestibule_rules::RuleSet {
    rules(&rule("r", lines).replace("match: {", "match: {os: any, "))
}

#[test]
fn fields_that_exclude_each_other_are_an_error_of_the_rule() {
    let blocks = OF_CONTAINERS.iter().map(|(fields, spec, container, why)| {
        (format!("containerPatches: [{{select: {{names: [app]}}, {fields}}}]"), spec, container, why)
    });
    let rows = OF_PODS
        .iter()
        .chain(WITH_OVERRIDE)
        .map(|(lines, spec, container, why)| ((*lines).to_owned(), spec, container, why));
    for (lines, spec, container, why) in rows.chain(blocks) {
        let rules = any_system(&format!("onConflict: override\n{lines}"));
        let decision = decide(&rules, &object(spec, container));
        assert_eq!((word(&decision), decision.patch().len()), ("error", 0), "{lines} {spec} {container}");
        assert!(decision.warnings[0].contains(why), "{why}: {:?}", decision.warnings);
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
    for (fields, spec, _, why) in OF_CONTAINERS.iter().take(6) {
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
