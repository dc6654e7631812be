//! `reserved-namespaces review < review.json`, called as by a script.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn deletion(user: &str) -> String {
    let resource = |kind: &str, name: &str| json!({ "group": "", "version": "v1", kind: name });
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": resource("kind", "ConfigMap"),
            "resource": resource("resource", "configmaps"),
            "name": "a",
            "namespace": "kube-dns",
            "operation": "DELETE",
            "userInfo": { "username": user },
            "oldObject": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } },
        },
    });
    review.to_string()
}

fn review(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reserved-namespaces"));
    command.arg("review").args(arguments).env("EXEMPT_USERS", "operator");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env_remove("CLICOLOR_FORCE").spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_exit_code_is_the_verdict_with_data_on_stdout_and_messages_on_stderr() {
    for (user, code, words) in [
        ("operator", 0, "\nallowed in "),
        ("mallory", 1, "kube-dns is reserved, and mallory is not exempt\n"),
    ] {
        let done = review(&[], &deletion(user));
        assert_eq!((done.status.code(), text(&done.stderr)), (Some(code), ""));
        let shown = text(&done.stdout);
        assert!(shown.starts_with("validate exempt-only: DELETE of configmaps, kube-dns/a\n"), "{shown}");
        assert!(shown.contains(words), "{shown}");
    }
    let done = review(&["-", "-o", "json"], &deletion("mallory"));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((done.status.code(), &report["decision"]), (Some(1), &json!("denied")));
    assert_eq!(report["review"]["response"]["status"]["code"], 403);
    // A fault is neither allowed nor denied.
    for (input, words) in [("", "ends too early"), ("{}", "not an AdmissionReview"), ("deny", "not JSON")] {
        let done = review(&[], input);
        assert_eq!((done.status.code(), text(&done.stdout)), (Some(2), ""));
        let talk = text(&done.stderr);
        assert!(talk.starts_with("error: ") && talk.contains(words), "{talk}");
    }
}
