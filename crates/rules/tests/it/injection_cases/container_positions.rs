//! Cases about positions of containers.

use super::{AS_IT_IS, example, labelled};
use crate::kit::{applied, creation, decide, evaluate, names, pod, result, rule, rules, steps, word};

const ENVOY: &str = include_str!("../../rules/envoy.yaml");

/// Between the two calls, another webhook inserted its init container before the injected one.
#[test]
fn row_19_an_anchor_that_others_violated_is_told_or_mended() {
    let told = rules(&rule("r", "sidecars: [{name: s, image: x, position: {initContainers: first}}]"));
    let between = pod(
        r#"{"containers":[{"name":"app"}],"initContainers":[{"name":"theirs"},{"name":"s","image":"x","restartPolicy":"Always"}]}"#,
    );
    let decision = decide(&told, &between);
    assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("unchanged", 0, 1));
    assert!(decision.warnings[0].starts_with("anchor_violated: "), "{:?}", decision.warnings);

    let strict =
        rules(&rule("r", "sidecars: [{name: s, image: x, position: {initContainers: first, strict: true}}]"));
    let decision = decide(&strict, &between);
    assert_eq!((steps(&decision).len(), decision.warnings.len()), (1, 0), "{:?}", decision.warnings);
    let step = &decision.changes()[0].operation;
    assert_eq!((step.name(), step.path().as_str()), ("move", "/spec/initContainers/0"));
    assert_eq!(names(&result(&strict, &between)["spec"]["initContainers"]), ["s", "theirs"]);
}

#[test]
fn row_28_a_jobs_pod_gets_a_native_sidecar() {
    let rules = example(ENVOY, AS_IT_IS);
    let enabled = labelled("injection", "enabled");
    let job = r#"{"metadata":{"name":"once","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"once","uid":"u"}]},"spec":{"restartPolicy":"Never","initContainers":[{"name":"a","image":"a"}],"containers":[{"name":"app","image":"app"}]}}"#;
    let subject = creation(job).facts(&enabled);
    let step = &steps(&evaluate(&rules, &subject))[0];
    assert!(step.starts_with("add /spec/initContainers/0 "), "{step}");
    let pod: serde_json::Value = serde_json::from_str(&applied(&rules, &subject)).unwrap();
    assert_eq!(names(&pod["spec"]["initContainers"]), ["envoy", "a"]);
    assert_eq!(pod["spec"]["initContainers"][0]["restartPolicy"], "Always");
    assert_eq!(names(&pod["spec"]["containers"]), ["app"]);
}

#[test]
fn row_30_sidecar_then_theirs_then_a_plain_init_container() {
    let both = rule("mesh", "sidecars: [{name: sidecar, image: s}]")
        + &rule("wait", "initContainers: [{name: c, image: c}]");
    let rules = rules(&both);
    let pod = pod(r#"{"containers":[{"name":"app"}],"initContainers":[{"name":"a"},{"name":"b"}]}"#);
    let paths: Vec<String> =
        decide(&rules, &pod).changes().iter().map(|change| change.operation.path().to_string()).collect();
    assert_eq!(paths[..2], ["/spec/initContainers/0", "/spec/initContainers/-"]);
    assert_eq!(names(&result(&rules, &pod)["spec"]["initContainers"]), ["sidecar", "a", "b", "c"]);
}
