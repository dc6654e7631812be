//! What people see of a decision. What nobody does is in a program of its own (`tests/log`).

mod stage;

use serde_json::json;
use vestibule_caller::openmetrics::Exposition;
use vestibule_caller::{Outcome, Review, User};

use stage::{RULES, call, conflicting, stage};

const OBSERVE: &str = "---
apiVersion: vestibule.dev/v1alpha1
kind: InjectorSettings
metadata: {name: settings}
spec: {mode: observe, successEvents: true}
";

const SUCCESS: &str = "---
apiVersion: vestibule.dev/v1alpha1
kind: InjectorSettings
metadata: {name: settings}
spec: {successEvents: true}
";

#[tokio::test]
async fn the_owner_learns_once_of_what_was_left_out() {
    let (road, cluster) = stage(RULES).await;
    // Of a dry run nothing is told, of the same again nothing more: what comes after them comes next.
    call(&road, conflicting("dry"), true).await;
    for owner in ["web-5d4f", "web-5d4f", "web-5d4f", "next"] {
        call(&road, conflicting(owner), false).await;
    }
    let (path, event) = cluster.posted().await;
    assert_eq!(path, "/apis/events.k8s.io/v1/namespaces/listed/events");
    assert_eq!(
        event["regarding"],
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f", "namespace": "listed",
               "uid": "uid-web-5d4f"})
    );
    assert_eq!(
        (&event["type"], &event["reason"], &event["reportingController"]),
        (&json!("Warning"), &json!("InjectionConflict"), &json!("vestibule.dev/injector"))
    );
    let note = event["note"].as_str().unwrap();
    assert!(
        note.starts_with("rule data left Pod web-***** as it is: volume `data` exists already"),
        "{note}"
    );
    assert!(note.ends_with("(rules.yaml:6)"), "{note}");
    assert_eq!(cluster.posted().await.1["regarding"]["name"], "next");
}

#[tokio::test]
async fn success_is_told_only_to_those_who_asked_for_it() {
    let (road, cluster) = stage(&format!("{RULES}{SUCCESS}")).await;
    call(&road, conflicting("web-5d4f"), false).await;
    let mut told = [cluster.posted().await.1, cluster.posted().await.1];
    told.sort_by_key(|event| event["reason"].to_string());
    assert_eq!((&told[0]["type"], &told[0]["reason"]), (&json!("Normal"), &json!("Injected")));
    assert_eq!(told[0]["note"], "rule tool was applied to Pod web-*****");
    assert_eq!(told[1]["reason"], "InjectionConflict");
}

#[tokio::test]
async fn a_value_that_cannot_be_read_is_told_without_it() {
    let (road, cluster) = stage(RULES).await;
    let mut pod = conflicting("web-5d4f");
    pod["metadata"]["labels"] = json!({});
    pod["metadata"]["annotations"] = json!({"inject.vestibule.dev/asked": "s3cret"});
    let Outcome::Allowed(allowed) = call(&road, pod, false).await else { panic!("allowed") };
    assert_eq!(allowed.warnings.shown.len(), 1);
    let event = cluster.posted().await.1;
    assert_eq!(event["reason"], "InjectionSkipped");
    let note = event["note"].as_str().unwrap();
    assert_eq!(
        note,
        "rule asked left Pod web-***** as it is: invalid_value (rules.yaml:19); `vestibule explain` tells more"
    );
}

/// Every outcome is counted by rule, result and reason; nothing else makes a series.
#[tokio::test]
async fn outcomes_are_counted() {
    let (road, _cluster) = stage(RULES).await;
    for owner in ["one", "two"] {
        call(&road, conflicting(owner), false).await;
    }
    let page = road.page("/metrics").await;
    let counted: Vec<&str> =
        page.lines().filter(|line| line.starts_with("vestibule_injections_total")).collect();
    assert_eq!(
        counted,
        [
            r#"vestibule_injections_total{rule="asked",result="skipped",reason="not_opted_in"} 2"#,
            r#"vestibule_injections_total{rule="data",result="skipped",reason="conflict"} 2"#,
            r#"vestibule_injections_total{rule="tool",result="applied",reason=""} 2"#,
        ]
    );
    let duration = r#"vestibule_admission_duration_seconds_bucket{le="0.0005",webhook="best-effort"}"#;
    assert!(page.contains(duration), "{page}");
}

/// Whoever asks, and from wherever: of that no metric says a word, so that nobody fills a database by asking.
#[tokio::test]
async fn nobody_who_asks_makes_a_series() {
    let (road, _cluster) = stage(RULES).await;
    let ask = async |numbers: std::ops::Range<usize>| {
        for number in numbers {
            let mut pod = conflicting(&format!("their-owner-{number}"));
            // Every other one is in a namespace that nobody knows.
            if number % 2 == 1 {
                pod["metadata"]["namespace"] = json!(format!("their-namespace-{number}"));
            }
            pod["metadata"]["labels"][format!("their-label-{number}")] = json!("x");
            pod["spec"]["containers"][0]["image"] = json!(format!("their-image-{number}"));
            let user = User { username: format!("their-user-{number}"), ..User::default() };
            let review = Review::create(pod).user(user).build().unwrap();
            road.judged("best-effort", &review).await;
        }
        road.page("/metrics").await.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let before = Exposition::read(&ask(0..10).await).unwrap().series();
    let page = ask(10..1_000).await;
    assert!(page.contains(r#"vestibule_injections_total{rule="tool",result="applied",reason=""}"#), "{page}");
    assert!(!page.contains("their-"), "{page}");
    let after = Exposition::read(&page).unwrap().series();
    assert_eq!(after, before);
    assert!(after <= 500, "{after}");
}

/// What is only observed is reported as that, and changes nothing: no patch, no warning, no Event.
#[tokio::test]
async fn what_is_observed_is_called_so() {
    let (road, _cluster) = stage(&format!("{RULES}{OBSERVE}")).await;
    let Outcome::Allowed(allowed) = call(&road, conflicting("web-5d4f"), false).await else {
        panic!("allowed")
    };
    assert!(allowed.patch.is_none() && allowed.warnings.shown.is_empty());
    let kept = allowed.audit_annotations.kept;
    assert_eq!(kept["best-effort/mode"], "observe");
    assert_eq!(kept["best-effort/rules"], "tool");
    assert_eq!(kept["best-effort/skipped"], "asked=not_opted_in,data=conflict");
    let page = road.page("/metrics").await;
    assert!(page.contains(r#"{rule="tool",result="observed",reason=""} 1"#), "{page}");
}
