use clap::Parser;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use vestibule::Operation::Create;
use vestibule::{Change, Context, FailurePolicy, Reject, deny, on};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    review: ReviewArguments,
}

async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    context.warn("a label was missing");
    context.audit("labelled", "yes");
    pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
    Ok(pod)
}

async fn guard(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    match change.object().and_then(|pod| pod.metadata.name.as_deref()) {
        Some("bad") => Err(deny("not this one\u{1b}[31m\u{202e}\u{2028}").field("metadata.name", "is bad")),
        Some("odd") => Err("seven".parse::<u8>().unwrap_err())?,
        _ => Ok(()),
    }
}

fn app() -> App {
    let pods = || on::<Pod>([Create]);
    App::new("demo").mutate("label", pods().failure_policy(FailurePolicy::Ignore), label).validate(
        "guard",
        pods().failure_policy(FailurePolicy::Fail),
        guard,
    )
}

fn review(name: &str) -> Vec<u8> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "name": name,
            "namespace": "shop",
            "operation": "CREATE",
            "userInfo": {"username": "alice"},
            "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"x-new": 1, "containers": []}},
        },
    });
    review.to_string().into_bytes()
}

async fn asked(arguments: &str, body: &[u8]) -> Result<(String, u8), CommandError> {
    let arguments = ["review", "--color", "never"].into_iter().chain(arguments.split_whitespace());
    Command::parse_from(arguments).review.answer(&app(), body).await
}

#[tokio::test]
async fn a_changed_object_is_a_diff_and_exit_code_0() {
    let (text, code) = asked("--hook label", &review("web")).await.unwrap();
    assert_eq!(code, 0);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("mutate label: CREATE of pods, shop/web"));
    assert!(lines.next().unwrap().starts_with("mutated by 1 operation in "), "{text}");
    assert!(
        text.contains("\n+  labels:\n+    seen: 'true'\n") || text.contains("\n+    seen: \"true\"\n"),
        "{text}"
    );
    assert!(text.ends_with("warning: a label was missing\naudit: labelled: yes\n"), "{text}");
    assert!(!text.contains("-  x-new"), "what the type does not know stays: {text}");
}

#[tokio::test]
async fn a_denial_is_exit_code_1() {
    let (text, code) = asked("--hook guard", &review("bad")).await.unwrap();
    assert_eq!(code, 1);
    assert!(text.contains("denied with 403") && text.contains("metadata.name: is bad"), "{text}");
}

#[tokio::test]
async fn neither_a_message_nor_an_object_name_moves_the_cursor() {
    let name = "a\u{1b}[2J\u{9b}2J\u{202e}\u{2028}b\u{7f}\nforged";
    for (hook, name) in [("--hook guard", "bad"), ("--hook label", name)] {
        let (text, _) = asked(hook, &review(name)).await.unwrap();
        let moves = |character| character != '\n' && crate::terminal_escape::is_control(character);
        assert!(!text.chars().any(moves), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
    }
}

#[tokio::test]
async fn verdicts_and_differences_have_their_colours() {
    for (hook, name, coloured) in [
        ("label", "web", "\u{1b}[32mmutated"),
        ("label", "web", "\u{1b}[32m+    seen"),
        ("guard", "bad", "\u{1b}[31mdenied"),
    ] {
        let command = Command::parse_from(["review", "--color", "always", "--hook", hook]);
        let (text, _) = command.review.answer(&app(), &review(name)).await.unwrap();
        assert!(text.contains(coloured), "{text:?}");
    }
}

#[tokio::test]
async fn a_fault_is_exit_code_2_and_names_the_failure_policy() {
    let (text, code) = asked("--hook guard", &review("odd")).await.unwrap();
    assert_eq!(code, 2);
    assert!(text.contains("a fault (error): failurePolicy Fail decides"), "{text}");
    assert_eq!(asked("--hook guard", &review("web")).await.unwrap().1, 0);
}

#[tokio::test]
async fn json_output_has_the_patch_and_the_answer() {
    let (text, code) = asked("--hook label -o json", &review("web")).await.unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["decision"], &report["status"]), (0, &json!("mutated"), &json!(200)));
    assert_eq!(
        report["patch"],
        json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "true"}}])
    );
    assert_eq!(report["review"]["response"]["uid"], "1");
    let (text, _) = asked("--hook guard -o json", &review("odd")).await.unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&report["status"], &report["decision"]), (&json!(500), &json!("fault")));
    assert!(report["message"].as_str().unwrap().contains("invalid digit"), "{text}");
}

#[tokio::test]
async fn an_ambiguous_or_unknown_hook_is_an_error() {
    for (arguments, body, words) in [
        ("", review("web"), "say which by --hook, one of label, guard"),
        ("--hook other", review("web"), "there is no hook `other`; there are label, guard"),
        ("", b"{}".to_vec(), "not an AdmissionReview"),
    ] {
        let error = asked(arguments, &body).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let update = String::from_utf8(review("web")).unwrap().replace("CREATE", "UPDATE");
    let error = asked("", update.as_bytes()).await.unwrap_err().to_string();
    assert!(error.contains("no hook is called for UPDATE of pods"), "{error}");
    let (text, code) = asked("--hook label", update.as_bytes()).await.unwrap();
    assert!(
        text.ends_with("note: the API server does not ask it for UPDATE of pods\n") && code == 0,
        "{text}"
    );
    assert!(!asked("--hook label", &review("web")).await.unwrap().0.contains("note:"));
}
