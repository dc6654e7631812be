//! A result that the API server would refuse is an error of the rule.

use serde_json::json;
use vestibule_rules::{Resource, Subject, Verb};

use crate::kit::{decide, evaluate, pod, result, rule, rules, word};

fn outcome(lines: &str, spec: &str) -> &'static str {
    word(&decide(&rules(&rule("r", lines)), &pod(spec)))
}

#[test]
fn requests_stay_within_limits() {
    let block =
        |resources: &str| format!("containerPatches:\n- select: {{all: true}}\n  resources: {{{resources}}}");
    let with =
        |resources: &str| format!(r#"{{"containers":[{{"name":"app","resources":{{{resources}}}}}]}}"#);
    for (rule, theirs, expected) in [
        ("requests: {cpu: 100m}", r#""limits":{"cpu":"50m"}"#, "error"),
        ("requests: {cpu: 100m}", r#""limits":{"cpu":"0.1"}"#, "applied"),
        ("limits: {memory: 1Gi}", r#""requests":{"memory":"2Gi"}"#, "error"),
        ("requests: {example.com/gpu: 1}", "", "error"),
        ("requests: {example.com/gpu: 1}, limits: {example.com/gpu: 2}", "", "error"),
        ("requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}", "", "applied"),
        (
            "requests: {hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}",
            r#""requests":{"cpu":"1"}"#,
            "error",
        ),
        // An error of the pod is not the rule's.
        ("limits: {hugepages-2Mi: 4Mi}", r#""requests":{"hugepages-2Mi":"2Mi"}"#, "applied"),
        ("requests: {memory: 1Gi}", r#""requests":{"cpu":"2"},"limits":{"cpu":"1"}"#, "applied"),
    ] {
        assert_eq!(outcome(&block(rule), &with(theirs)), expected, "{rule} {theirs}");
    }
    let sidecar = "sidecars: [{name: s, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]";
    assert_eq!(outcome(sidecar, "{}"), "error");
}

#[test]
fn privileges_do_not_contradict_each_other() {
    let block =
        "containerPatches:\n- select: {all: true}\n  securityContext: {allowPrivilegeEscalation: false}";
    for (theirs, expected) in [
        (r#"{"privileged":true}"#, "error"),
        (r#"{"capabilities":{"add":["CAP_SYS_ADMIN"]}}"#, "error"),
        // The API server accepts this.
        (r#"{"capabilities":{"add":["SYS_ADMIN"]}}"#, "applied"),
        (r#"{"capabilities":{"add":["CHOWN"]}}"#, "applied"),
        (r#"{"allowPrivilegeEscalation":true}"#, "unchanged"),
    ] {
        let spec = format!(r#"{{"containers":[{{"name":"app","securityContext":{theirs}}}]}}"#);
        assert_eq!(outcome(block, &spec), expected, "{theirs}");
    }
}

#[test]
fn probes_are_for_containers_that_do_not_end() {
    let block =
        "containerPatches:\n- select: {all: true, init: true}\n  readinessProbe: {tcpSocket: {port: 80}}";
    let spec = |more: &str| {
        format!(r#"{{"containers":[{{"name":"app"}}],"initContainers":[{{"name":"init"{more}}}]}}"#)
    };
    assert_eq!(outcome(block, &spec("")), "error");
    assert_eq!(outcome(block, &spec(r#","restartPolicy":"Always""#)), "applied");
}

#[test]
fn block_devices_have_volumes() {
    let block =
        "containerPatches:\n- select: {all: true}\n  volumeDevices: [{name: gone, devicePath: /dev/x}]";
    assert_eq!(outcome(block, r#"{"containers":[{"name":"app"}]}"#), "error");
}

/// The API server refused the pods that had no probe.
#[test]
fn a_probe_without_a_handler_is_not_added() {
    let rules =
        rules(&rule("r", "containerPatches: [{select: {all: true}, readinessProbe: {timeoutSeconds: 9}}]"));
    let probe = |own: &str| decide(&rules, &pod(&format!(r#"{{"containers":[{{"name":"app"{own}}}]}}"#)));
    let decision = probe("");
    assert_eq!(word(&decision), "error");
    assert!(decision.warnings[0].contains("`readinessProbe` needs one of exec, grpc, httpGet, tcpSocket"));
    assert_eq!(
        word(&probe(r#","readinessProbe":{"exec":{"command":["x"]},"timeoutSeconds":9}"#)),
        "unchanged"
    );
}

/// The API server refused the pods that have less time to end than the rule sleeps.
#[test]
fn a_hook_sleeps_no_longer_than_the_pod_may_take_to_end() {
    let hook = "lifecycle: {preStop: {sleep: {seconds: 20}}}";
    for part in [
        format!("containerPatches: [{{select: {{all: true}}, {hook}}}]"),
        format!("sidecars: [{{name: s, image: s, mode: regular, {hook}}}]"),
    ] {
        let rules = rules(&rule("r", &part));
        let outcome = |grace: &str| {
            word(&decide(&rules, &pod(&format!(r#"{{{grace}"containers":[{{"name":"app"}}]}}"#))))
        };
        assert_eq!(outcome(""), "applied");
        assert_eq!(outcome(r#""terminationGracePeriodSeconds":20,"#), "applied");
        assert_eq!(outcome(r#""terminationGracePeriodSeconds":19,"#), "error");
    }
    let both = rule(
        "r",
        &format!(
            "pod: {{spec: {{terminationGracePeriodSeconds: 40, onConflict: override}}}}\ncontainerPatches: [{{select: {{all: true}}, {hook}}}]"
        ),
    );
    let short = pod(r#"{"terminationGracePeriodSeconds":5,"containers":[{"name":"app"}]}"#);
    assert_eq!(word(&decide(&rules(&both), &short)), "applied");
}

/// The API server refused pods with resources of their own, which a sidecar exceeded.
#[test]
fn containers_stay_within_the_resources_of_the_pod() {
    let sidecar = |mode: &str| {
        format!(
            "sidecars: [{{name: s, image: s, mode: {mode}, resources: {{requests: {{cpu: 100m}}, limits: {{cpu: 1, memory: 1Gi}}}}}}]"
        )
    };
    let init =
        "initContainers: [{name: s, image: s, resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}}]";
    let block = "containerPatches: [{select: {all: true}, resources: {limits: {memory: 1Gi}}}]";
    let (native, regular) = (sidecar("native"), sidecar("regular"));
    for (lines, of_pod, expected) in [
        (&*native, r#"{"requests":{"cpu":"500m"}}"#, "error"),
        (&*regular, r#"{"requests":{"cpu":"500m"}}"#, "error"),
        (&*native, r#"{"requests":{"cpu":"550m"}}"#, "applied"),
        // It ends before the others start.
        (init, r#"{"requests":{"cpu":"500m"}}"#, "applied"),
        (&*init.replace("100m", "500m"), r#"{"requests":{"cpu":"450m"}}"#, "error"),
        (&*regular, r#"{"limits":{"cpu":"500m"}}"#, "error"),
        // The API server compares the limits of regular containers only.
        (&*native, r#"{"limits":{"cpu":"600m"}}"#, "applied"),
        // Without a request of the pod, the API server takes that of its containers.
        (&*native, r#"{"limits":{"cpu":"500m"}}"#, "error"),
        (&*native, r#"{"limits":{"cpu":"1","memory":"2Gi"}}"#, "applied"),
        (&*native, r#"{"limits":{"cpu":"500m"},"requests":{"cpu":"450m"}}"#, "error"),
        (&*native, r#"{"requests":{"cpu":"450m"}}"#, "error"),
        // Without a request, the limit counts.
        (&*native, r#"{"requests":{"memory":"512Mi"}}"#, "error"),
        (block, r#"{"limits":{"memory":"512Mi"}}"#, "error"),
        (block, r#"{"limits":{"memory":"1024Mi"}}"#, "applied"),
        (block, "null", "applied"),
    ] {
        let spec = format!(
            r#"{{"resources":{of_pod},"containers":[{{"name":"app","resources":{{"requests":{{"cpu":"450m"}}}}}}]}}"#
        );
        assert_eq!(outcome(lines, &spec), expected, "{lines} {of_pod}");
    }
    let of_pod = "pod: {spec: {resources: {limits: {memory: 1Gi}}}}";
    let spec = r#"{"containers":[{"name":"app","resources":{"limits":{"memory":"2Gi"}}}]}"#;
    assert_eq!(outcome(of_pod, spec), "error");
}

/// The API server writes the sum of the containers' requests into a pod with limits of its own, and the rule was left out because of it.
#[test]
fn a_derived_request_of_the_pod_is_removed_when_the_rule_raises_the_sum() {
    let sidecar = "sidecars: [{name: s, image: s, resources: {requests: {cpu: 10m, memory: 1Gi}}}]";
    let block = "containerPatches: [{select: {all: true}, resources: {requests: {memory: 1Gi}}}]";
    let own = "pod: {spec: {resources: {requests: {cpu: 100m}}}}";
    let object = |requests: &str| {
        let limits = r#""limits":{"cpu":"1","memory":"2Gi"}"#;
        let app = r#"{"name":"app","resources":{"requests":{"cpu":"100m"}}}"#;
        pod(&format!(
            r#"{{"resources":{{{limits},"requests":{{{requests}}}}},"containers":[{app},{{"name":"b"}}]}}"#
        ))
    };
    for (lines, requests, expected) in [
        (sidecar, r#""cpu":"0.1""#, json!({})),
        (sidecar, r#""cpu":"0.1","memory":"2Gi""#, json!({"memory": "2Gi"})),
        (sidecar, r#""cpu":"200m""#, json!({"cpu": "200m"})),
        // The sum is the same.
        (block, r#""cpu":"100m""#, json!({"cpu": "100m"})),
    ] {
        let result = result(&rules(&rule("r", lines)), &object(requests));
        assert_eq!(result["spec"]["resources"]["requests"], expected, "{lines} {requests}");
    }
    let object = object(r#""cpu":"100m""#);
    let both = rules(&rule("r", &format!("{own}\n{sidecar}")));
    assert_eq!(word(&decide(&both, &object)), "error");
    // In a template the request is of its author.
    let deployment = format!(r#"{{"spec":{{"template":{object}}}}}"#);
    let of_deployments = rules(&rule("r", &format!("targets: [deployments]\n{sidecar}")));
    let subject = Subject::new(&deployment, Resource::Deployments, Verb::Create, "n");
    assert_eq!(word(&evaluate(&of_deployments, &subject)), "error");
}

/// The API server derives the pod's limit of huge pages from those of its containers, and its request from that limit.
#[test]
fn derived_huge_pages_of_the_pod_are_removed_when_the_rule_raises_the_sum() {
    let amounts = |amount: &str| format!(r#""cpu":"1","hugepages-2Mi":"{amount}""#);
    let sidecar = "sidecars: [{name: s, image: s, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}]";
    let object = |of_pod: &str| {
        let app = format!(r#"{{"name":"app","resources":{{"limits":{{{}}}}}}}"#, amounts("4Mi"));
        let of_pod = amounts(of_pod).replace(r#""1""#, r#""2""#);
        pod(&format!(
            r#"{{"resources":{{"limits":{{{of_pod}}},"requests":{{{of_pod}}}}},"containers":[{app}]}}"#
        ))
    };
    let rules = rules(&rule("r", sidecar));
    let resources = &result(&rules, &object("4Mi"))["spec"]["resources"];
    assert_eq!(*resources, json!({"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}));
    let resources = &result(&rules, &object("8Mi"))["spec"]["resources"];
    assert_eq!(resources["limits"]["hugepages-2Mi"], "8Mi");
}

/// The second evaluation found another sum than the one that the first rule demands, and denied the pod.
#[test]
fn a_request_of_the_pod_that_an_earlier_rule_demands_stays() {
    let object = pod(
        r#"{"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"100m"}},"containers":[{"name":"app","resources":{"requests":{"cpu":"100m"}}}]}"#,
    );
    for (on_conflict, expected) in
        [("keep", json!({})), ("override", json!({"cpu": "100m"})), ("deny", json!({"cpu": "100m"}))]
    {
        let own =
            format!("onConflict: {on_conflict}\npod: {{spec: {{resources: {{requests: {{cpu: 100m}}}}}}}}");
        let sidecar = "sidecars: [{name: s, image: s, resources: {requests: {cpu: 10m}}}]";
        let both = rules(&(rule("a", &own) + &rule("b", sidecar)));
        let made = result(&both, &object);
        assert_eq!(made["spec"]["resources"]["requests"], expected, "{on_conflict}");
    }
    // The first rule is left out because of its other amount, so nothing is demanded.
    let own = "pod: {spec: {resources: {requests: {cpu: 200m}}}}\nonConflict: skipRule";
    let sidecar = "sidecars: [{name: s, image: s, resources: {requests: {cpu: 10m}}}]";
    let made = result(&rules(&(rule("a", own) + &rule("b", sidecar))), &object);
    assert_eq!(made["spec"]["containers"].as_array().map(Vec::len), Some(1));
    assert_eq!(made["spec"]["initContainers"][0]["name"], "s");
}
