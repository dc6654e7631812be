//! The content of Events, metrics, warnings and audit annotations. `tests/log` checks that they hold no secrets.

pub(crate) mod fixture;

use serde_json::json;
use vestibule_caller::{Review, User};

use crate::watching::openmetrics::Exposition;
use fixture::{RULES, call, conflicting, injector_on_cluster};

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
async fn a_conflict_makes_one_event_on_the_owner() {
    let (injector, cluster) = injector_on_cluster(RULES).await;
    // A dry run makes no Event, and neither does a repetition: the next Event is about the next owner.
    call(&injector, conflicting("dry"), true).await;
    for owner in ["web-5d4f", "web-5d4f", "web-5d4f", "next"] {
        call(&injector, conflicting(owner), false).await;
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
async fn applied_rules_make_events_only_with_success_events() {
    let (injector, cluster) = injector_on_cluster(&format!("{RULES}{SUCCESS}")).await;
    call(&injector, conflicting("web-5d4f"), false).await;
    let mut told = [cluster.posted().await.1, cluster.posted().await.1];
    told.sort_by_key(|event| event["reason"].to_string());
    assert_eq!((&told[0]["type"], &told[0]["reason"]), (&json!("Normal"), &json!("Injected")));
    assert_eq!(told[0]["note"], "rule tool was applied to Pod web-*****");
    assert_eq!(told[1]["reason"], "InjectionConflict");
}

#[tokio::test]
async fn an_event_about_an_invalid_value_does_not_hold_the_value() {
    let (injector, cluster) = injector_on_cluster(RULES).await;
    let mut pod = conflicting("web-5d4f");
    pod["metadata"]["labels"] = json!({});
    pod["metadata"]["annotations"] = json!({"inject.vestibule.dev/asked": "s3cret"});
    let allowed = call(&injector, pod, false).await;
    assert_eq!(allowed.warnings.shown.len(), 1);
    let event = cluster.posted().await.1;
    assert_eq!(event["reason"], "InjectionSkipped");
    let note = event["note"].as_str().unwrap();
    assert_eq!(
        note,
        "rule asked left Pod web-***** as it is: invalid_value (rules.yaml:19); `vestibule explain` tells more"
    );
}

/// Every outcome is counted by rule, result and reason.
#[tokio::test]
async fn outcomes_are_counted() {
    let (injector, _cluster) = injector_on_cluster(RULES).await;
    for owner in ["one", "two"] {
        call(&injector, conflicting(owner), false).await;
    }
    let page = injector.page("/metrics").await;
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

/// No metric has a label from a request, so that requests cannot grow the number of series.
#[tokio::test]
async fn requests_make_no_series() {
    let (injector, _cluster) = injector_on_cluster(RULES).await;
    let ask = async |numbers: std::ops::Range<usize>| {
        for number in numbers {
            let mut pod = conflicting(&format!("their-owner-{number}"));
            // Every other pod is in a namespace of its own.
            if number % 2 == 1 {
                pod["metadata"]["namespace"] = json!(format!("their-namespace-{number}"));
            }
            pod["metadata"]["labels"][format!("their-label-{number}")] = json!("x");
            pod["spec"]["containers"][0]["image"] = json!(format!("their-image-{number}"));
            let user = User { username: format!("their-user-{number}"), ..User::default() };
            let review = Review::create(pod).user(user).build().unwrap();
            injector.admit("best-effort", &review).await;
        }
        injector.page("/metrics").await.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let before = Exposition::read(&ask(0..10).await).unwrap().series();
    let page = ask(10..1_000).await;
    assert!(page.contains(r#"vestibule_injections_total{rule="tool",result="applied",reason=""}"#), "{page}");
    assert!(!page.contains("their-"), "{page}");
    let after = Exposition::read(&page).unwrap().series();
    assert_eq!(after, before);
    assert!(after <= 500, "{after}");
}

/// In the mode `observe` outcomes are counted as `observed`, and there is no patch, no warning and no Event.
#[tokio::test]
async fn the_mode_observe_reports_and_changes_nothing() {
    let (injector, _cluster) = injector_on_cluster(&format!("{RULES}{OBSERVE}")).await;
    let allowed = call(&injector, conflicting("web-5d4f"), false).await;
    assert!(allowed.patch.is_none() && allowed.warnings.shown.is_empty());
    let kept = allowed.audit_annotations.kept;
    assert_eq!(kept["best-effort/mode"], "observe");
    assert_eq!(kept["best-effort/rules"], "tool");
    assert_eq!(kept["best-effort/skipped"], "asked=not_opted_in,data=conflict");
    let page = injector.page("/metrics").await;
    assert!(page.contains(r#"{rule="tool",result="observed",reason=""} 1"#), "{page}");
}
