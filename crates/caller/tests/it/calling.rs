//! Requests of the caller, its retries, deadlines and trust.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vestibule_caller::{Admission, CallError, Caller, FailurePolicy, Hook, Outcome, Review, SetupError};

use super::server::{Authority, NAME, Server, busy, ok, served};
use super::{UID, allowed, mutating, pod, review};

#[tokio::test]
async fn the_request_is_the_api_servers() {
    let (server, caller) = served(vec![ok()]).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let review = Review::create(pod()).uid(UID).traceparent(trace).build().unwrap();
    let hook = Hook::mutating("m.example.com", "/mutate/").timeout(Duration::from_millis(4200));
    let admission = caller.admit(&review, &hook, FailurePolicy::Fail).await.unwrap();
    assert!(matches!(admission, Admission::Admitted { failed_open: None, .. }));

    let seen = server.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/mutate?timeout=5s"));
    assert_eq!(seen.sni.as_deref(), Some(NAME));
    assert_eq!(seen.alpn.as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(seen.body, review.body());
    let header = |name| seen.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("host"), Some("hook.shop.svc:443"));
    assert_eq!(header("user-agent"), Some("kube-apiserver-admission"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("accept"), Some("application/json, */*"));
    assert_eq!(header("content-length"), Some(review.body().len().to_string().as_str()));
    assert_eq!(header("transfer-encoding"), None);
    assert_eq!(header("traceparent"), Some(trace));
}

#[tokio::test]
async fn connections_are_kept_until_the_server_closes_them() {
    let closing = Some((200, vec![("connection", "close")], allowed(json!({})).to_string()));
    let (server, caller) = served(vec![ok(), ok(), closing, ok()]).await;
    for _ in 0..5 {
        caller.call(&review(), &mutating()).await.unwrap();
    }
    let seen = server.seen();
    let connections: Vec<usize> = seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 0, 1, 1]);
    assert!(seen.iter().all(|seen| !seen.resumed));
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let (server, caller) = served(vec![busy("0"), busy("1"), ok()]).await;
    let start = Instant::now();
    let answer = caller.call(&review(), &mutating()).await.unwrap();
    assert_eq!((answer.status, server.seen().len()), (200, 3));
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_that_stays_busy_is_asked_eleven_times() {
    let (server, caller) = served(vec![busy("0")]).await;
    let answer = caller.call(&review(), &mutating()).await.unwrap();
    assert_eq!((answer.status, server.seen().len()), (503, 11));
}

#[tokio::test]
async fn the_deadline_bounds_waiting_for_retry_and_answer() {
    for script in [busy("30"), None] {
        let (server, caller) = served(vec![script]).await;
        let hook = mutating().timeout(Duration::from_secs(1));
        let error = caller.call(&review(), &hook).await.err().expect("no answer");
        assert!(matches!(error, CallError::Deadline { .. }), "{error}");
        assert_eq!(server.seen().len(), 1);
        assert_eq!(
            in_its_words(&error),
            r#"Post "https://hook.shop.svc:443/mutate?timeout=1s": context deadline exceeded"#
        );
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let server = Server::start(&Authority::named("one"), NAME, vec![ok()]).await;
    for other in ["one", "two"] {
        let bundle = Authority::named(other).bundle();
        let caller = Caller::new(server.address, NAME, bundle.as_bytes()).unwrap();
        let error = caller.call(&review(), &mutating()).await.err().expect("no answer");
        assert!(matches!(error, CallError::Tls { .. }), "{error}");
        let words = in_its_words(&error);
        assert!(words.ends_with("x509: certificate signed by unknown authority"), "{words}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_of_another_name_is_refused() {
    let authority = Authority::new();
    let server = Server::start(&authority, "other.shop.svc", vec![ok()]).await;
    let caller = Caller::new(server.address, NAME, authority.bundle().as_bytes()).unwrap();
    let error = caller.call(&review(), &mutating()).await.err().expect("no answer");
    let words = in_its_words(&error);
    assert!(words.ends_with("x509: certificate is valid for other.shop.svc, not hook.shop.svc"), "{words}");
}

#[tokio::test]
async fn no_listener_at_the_address() {
    let authority = Authority::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let caller = Caller::new(free, NAME, authority.bundle().as_bytes()).unwrap();
    let error = caller.call(&review(), &mutating()).await.err().expect("no answer");
    assert!(matches!(error, CallError::Connect { .. }), "{error}");
    assert!(in_its_words(&error).ends_with("connect: connection refused"), "{}", in_its_words(&error));
}

#[tokio::test]
async fn an_address_without_a_name_sends_none() {
    let authority = Authority::new();
    let server = Server::start(&authority, "127.0.0.1", vec![ok()]).await;
    let caller = Caller::new(server.address, "127.0.0.1", authority.bundle().as_bytes()).unwrap();
    caller.call(&review(), &mutating()).await.unwrap();
    let seen = server.seen().remove(0);
    assert_eq!(seen.sni, None);
    assert_eq!(seen.headers["host"], server.address.to_string());
}

#[tokio::test]
async fn a_bundle_may_hold_text_and_several_certificates() {
    let authority = Authority::new();
    let server = Server::start(&authority, NAME, vec![ok()]).await;
    let bundle = format!("# old\n{}\n# new\n{}", Authority::new().bundle(), authority.bundle());
    let caller = Caller::new(server.address, NAME, bundle.as_bytes()).unwrap();
    assert_eq!(caller.call(&review(), &mutating()).await.unwrap().status, 200);
}

#[test]
fn a_caller_needs_a_bundle_and_a_name() {
    let address = "127.0.0.1:443".parse().unwrap();
    let error = |name: &str, bundle: &str| Caller::new(address, name, bundle.as_bytes()).err().unwrap();
    for bundle in ["", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(error(NAME, bundle), SetupError::Bundle), "{bundle:?}");
    }
    assert!(matches!(error("no name!", &Authority::new().bundle()), SetupError::ServerName { .. }));
}

/// kube-apiserver's text of the error, behind the prefix of every failed call.
fn in_its_words(error: &CallError) -> String {
    let Outcome::Failed(failed) = error.outcome(&mutating()) else { panic!("no failure") };
    assert!(failed.ignorable);
    let start =
        r#"Internal error occurred: failed calling webhook "m.example.com": failed to call webhook: "#;
    failed.message.strip_prefix(start).unwrap_or_else(|| panic!("{}", failed.message)).to_owned()
}
