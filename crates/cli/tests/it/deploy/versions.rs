//! `vestibule install` refuses a cluster that is too old before it asks anything else. The chart refuses by `kubeVersion`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;
use vestibule_testenv::tools_or_skip;

use super::folder;
use crate::fixture::{Done, Folder, finish};

/// The answer of an API server that has no such object.
const NOT_FOUND: &str =
    r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}"#;

/// `vestibule install` on an API server that has only its version, and answers `other` with 404 to all else; and the requests that it
/// got.
fn install(major: &str, minor: &str, other: &'static str) -> (Done, Vec<String>) {
    let version = json!({"major": major, "minor": minor, "gitVersion": format!("v{major}.{minor}.9")});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let Some(request) = read_request(&connection) else { continue };
            let (status, body) = match request.starts_with("GET /version ") {
                true => ("200 OK", version.to_string()),
                false => ("404 Not Found", other.to_owned()),
            };
            seen.lock().unwrap().push(request);
            let head = "connection: close\r\ncontent-type: application/json";
            let length = body.len();
            let _ =
                write!(connection, "HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        }
    });
    let kubeconfig = json!({
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {"token": "t"}}],
        "clusters": [{"name": "a", "cluster": {"server": format!("http://{address}")}}],
    });
    let done =
        Folder::with(&[("kubeconfig", &kubeconfig.to_string())]).run("install --kubeconfig kubeconfig");
    let requests = requests.lock().unwrap().clone();
    (done, requests)
}

/// The first line of the next request. Its body is read too: a server that closes a connection with unread bytes resets it, and the
/// client may lose the answer.
fn read_request(connection: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(connection);
    let lines = reader.by_ref().lines().map_while(Result::ok);
    let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    head.into_iter().next()
}

#[test]
fn install_refuses_kubernetes_before_1_30() {
    // Some providers write `29+`.
    for minor in ["29", "29+", "9"] {
        let (done, requests) = install("1", minor, NOT_FOUND);
        done.fails(
            2,
            format!(
                "the cluster runs Kubernetes v1.{minor}.9; 1.30 is the oldest version with all that is needed"
            ),
        );
        assert_eq!(requests, ["GET /version HTTP/1.1"], "nothing else was asked");
    }
}

#[test]
fn install_goes_on_where_kubernetes_is_new_enough() {
    for (major, minor) in [("1", "30"), ("1", "30+"), ("1", "100"), ("2", "0")] {
        let (done, requests) = install(major, minor, NOT_FOUND);
        // This API server has nothing else, so that the rehearsal ends the command.
        done.fails(1, "nothing was changed");
        assert!(!done.err.contains("oldest version"), "{}", done.err);
        assert!(requests.len() > 1, "{requests:?}");
    }
}

#[test]
fn the_error_of_a_proxy_is_no_refusal_of_the_api_server() {
    let (done, _) = install("1", "36", r#"{"error": "no upstream"}"#);
    done.fails(
        1,
        "the answer is not that of an API server; is another server or a proxy at the cluster's address?",
    );
}

#[tokio::test]
async fn the_chart_refuses_kubernetes_before_1_30() {
    let Some(tools) = tools_or_skip().await else { return };
    for helm in [&tools.helm3, &tools.helm4] {
        for (version, code) in [("1.29.15", 1), ("1.30.0", 0), ("1.30.0-eks-1234", 0)] {
            let home = Folder::with(&[]);
            let mut command = Command::new(helm);
            command
                .args(["template", "vestibule", "--kube-version", version])
                .arg(folder().join("helm/vestibule"));
            let done = finish(command.env("HOME", home.path()), "");
            done.exits(code);
            assert_eq!(done.err.contains("requires kubeVersion: >=1.30.0"), code == 1, "{}", done.err);
        }
    }
}
