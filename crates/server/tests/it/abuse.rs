//! Abusive clients in small numbers. `cargo xtask fire` has large numbers of them, and measures memory and time.

use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::Full;
use tokio::task::JoinSet;
use vestibule_admission::{Hook, Verdict};
use vestibule_server::{CloseReason, Settings};

use crate::harness::{
    Authority, Client, HOOK, NAME, allow, client_config, exchange, handshake, patient_with, review,
    review_of, serve, serve_hook, serve_limited, serve_with, until,
};

const MIB: usize = 1 << 20;
const HEAD: &str = "POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";

/// The default: what an API server with default limits sends at most.
const LARGEST: usize = 28 * MIB;

#[tokio::test]
async fn a01_a_body_one_byte_over_the_limit_is_refused_with_and_without_a_length() {
    let server = serve(allow()).await;
    let said = server.exchange(format!("{HEAD}content-length: {}\r\n\r\n", LARGEST + 1)).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    let chunk = format!("{:x}\r\n{}\r\n", MIB, " ".repeat(MIB));
    let body = chunk.repeat(LARGEST / MIB) + "1\r\n \r\n0\r\n\r\n";
    let said = server.exchange(format!("{HEAD}transfer-encoding: chunked\r\n\r\n{body}")).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test]
async fn a02_an_update_of_3_mib_is_admitted() {
    let server = serve(allow()).await;
    let object = format!(r#"{{"data":"{}"}}"#, "x".repeat(3 * MIB));
    let body = review_of("v1", "1", r#""name":"web""#, &object);
    let body = body.replace(r#""oldObject":null"#, &format!(r#""oldObject":{object}"#));
    assert!(body.len() > 6 * MIB);
    assert_eq!(server.connect().await.post(HOOK, body).await.status, StatusCode::OK);
}

/// kube-apiserver takes 3 MiB, has stored 1.5 MiB, and writes each `<` as six bytes.
#[tokio::test]
async fn the_largest_review_of_an_api_server_with_default_limits_is_answered() {
    let patch = || {
        Verdict::mutated(serde_json::from_str::<Vec<_>>(r#"[{"op":"add","path":"/a","value":1}]"#).unwrap())
    };
    let (handler, entered, go_on) = patient_with(patch);
    let build = |server: vestibule_server::Server| {
        server.route(HOOK, Hook::mutating("hook", handler), Duration::from_secs(600))
    };
    let server = serve_with(|settings| settings.body_timeout = Duration::from_secs(600), build).await;
    let html = |bytes: usize| format!(r#"{{"data":"{}"}}"#, r"\u003c".repeat(bytes));
    let body = review_of("v1", "1", r#""name":"web""#, &html(3 * MIB));
    let body = body.replace(r#""oldObject":null"#, &format!(r#""oldObject":{}"#, html(3 * MIB / 2)));
    assert!(body.len() > 27 * MIB && body.len() < LARGEST, "{}", body.len());

    let mut client = server.connect().await;
    let answer = tokio::spawn(async move { client.post(HOOK, body).await });
    entered.notified().await;
    // It takes all memory that is not kept for small bodies, so no other large body is in memory beside it.
    assert_eq!(server.held("body_bytes"), (56 * MIB as u64, 64 * MIB as u64));
    go_on.notify_one();
    let answer = answer.await.unwrap();
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(answer.json()["response"]["patchType"], "JSONPatch");
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a03_concurrent_uploads_share_the_body_memory() {
    let server = serve_hook(|settings| settings.max_bodies = MIB, Hook::validating("hook", allow())).await;
    let body = review("1") + &" ".repeat(MIB / 2);
    let mut uploads = JoinSet::new();
    for _ in 0..40 {
        let (mut client, body) = (server.connect().await, body.clone());
        uploads.spawn(async move { client.post(HOOK, body).await.status });
    }
    let mut most = 0;
    while !uploads.is_empty() {
        tokio::select! {
            biased;
            status = uploads.join_next() => assert_eq!(status.unwrap().unwrap(), StatusCode::OK),
            () = tokio::task::yield_now() => most = most.max(server.held("body_bytes").0),
        }
    }
    assert!(most <= MIB as u64, "{most}");
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test]
async fn a04_slow_heads_are_closed_and_delay_no_other_call() {
    let mut server = serve_hook(
        |settings| settings.head_timeout = Duration::from_secs(1),
        Hook::validating("hook", allow()),
    )
    .await;
    let slow = (0..20).map(|_| server.exchange("POST /hook HTTP/1.1\r\nhost"));
    let slow = futures_of(slow);
    let calls = async {
        let mut client = server.connect().await;
        for _ in 0..20 {
            assert_eq!(client.review().await.status, StatusCode::OK);
        }
        client
    };
    let (said, _client) = tokio::join!(slow, calls);
    assert!(said.iter().all(String::is_empty));
    for _ in 0..20 {
        assert_eq!(server.closed().await, CloseReason::SlowHead);
    }
}

#[tokio::test]
async fn a05_slow_bodies_are_closed_and_delay_no_other_call() {
    let mut server = serve_hook(
        |settings| settings.body_timeout = Duration::from_secs(1),
        Hook::validating("hook", allow()),
    )
    .await;
    let begun = format!("{HEAD}content-length: 100\r\n\r\n{{");
    // The handshakes before: with them, the last body might begin when the first has ended.
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(server.tls().await);
    }
    let slow = futures_of(streams.into_iter().map(|stream| exchange(stream, &begun)));
    let calls = async {
        until(|| server.held("body_bytes").0 >= 2000).await;
        let mut client = server.connect().await;
        for _ in 0..20 {
            assert_eq!(client.review().await.status, StatusCode::OK);
        }
        client
    };
    let (said, _client) = tokio::join!(slow, calls);
    assert!(said.iter().all(|said| said.starts_with("HTTP/1.1 408 ")));
    for _ in 0..20 {
        assert_eq!(server.closed().await, CloseReason::SlowBody);
    }
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test]
async fn a07_failed_handshakes_delay_no_call() {
    let server = serve(allow()).await;
    let mut client = server.connect().await;
    let mut handshakes = JoinSet::new();
    for _ in 0..100 {
        let (address, config) = (server.address, client_config(Authority::new().roots()));
        handshakes.spawn(async move { handshake(address, config, NAME).await.is_err() });
    }
    while let Some(refused) = handshakes.join_next().await {
        assert!(refused.unwrap());
        assert_eq!(client.review().await.status, StatusCode::OK);
    }
    until(|| server.held("connections").0 == 1).await;
    assert_eq!(server.held("handshakes").0, 0);
}

#[tokio::test]
async fn a08_members_that_the_handler_does_not_read_may_nest_to_any_depth() {
    let server = serve(allow()).await;
    let mut client = server.connect().await;
    for depth in [126, 128, 1_000, 100_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let object = format!(r#"{{"deep":{deep}}}"#);
        let reply = client.post(HOOK, review_of("v1", "1", r#""name":"web""#, &object)).await;
        assert_eq!(reply.status, StatusCode::OK, "{depth}");
        let unknown = review("1").replacen('{', &format!(r#"{{"unknown":{deep},"#), 1);
        assert_eq!(client.post(HOOK, unknown).await.status, StatusCode::OK, "{depth}");
        let typed = review("1").replace(r#""alice""#, &deep);
        assert_eq!(client.post(HOOK, typed).await.status, StatusCode::BAD_REQUEST, "{depth}");
    }
}

#[tokio::test]
async fn a08_an_object_deeper_than_the_configured_limit_is_a_fault() {
    let set = |settings: &mut Settings| settings.max_depth = Some(3);
    let server = serve_limited(set).await;
    let mut client = server.connect().await;
    for (object, status) in [
        (r#"{"three":[{"]":"[[[["}]}"#, StatusCode::OK),
        (r#"{"four":[{"is":[]}]}"#, StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        let new = review_of("v1", "1", r#""name":"web""#, object);
        let old = review("1").replace(r#""oldObject":null"#, &format!(r#""oldObject":{object}"#));
        assert!(old.contains(object));
        for body in [new, old] {
            let reply = client.post(HOOK, body).await;
            assert_eq!(reply.status, status, "{object}: {}", reply.body);
        }
    }
    let deep = review_of("v1", "1", r#""name":"web""#, r#"{"four":[{"is":[]}]}"#);
    assert_eq!(client.post(HOOK, deep).await.body, "the object nests deeper than 3 levels");
}

#[tokio::test]
async fn a09_malformed_reviews_get_an_answer_of_constant_size() {
    let server = serve(allow()).await;
    let mut client = server.connect().await;
    let million = format!("[{}0]", "0,".repeat(1_000_000));
    for (what, body) in [
        ("a million elements for a name", review("1").replace(r#""web""#, &million)),
        ("half a surrogate", review("1").replace("alice", r"\ud800")),
        ("a number out of range", review("1").replace(r#""web""#, "1e400")),
        ("a member twice", review("1").replacen(r#""uid""#, r#""uid":"2","uid""#, 1)),
        ("a byte order mark", format!("\u{feff}{}", review("1"))),
        ("bytes after the end", review("1") + "{}"),
        ("nothing", String::new()),
    ] {
        let reply = client.post(HOOK, body).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{what}");
        assert!(reply.body.len() < 200, "{what}: {}", reply.body);
    }
    let mut bytes = review("1").into_bytes();
    let name = bytes.windows(5).position(|window| window == b"alice").unwrap();
    bytes[name] = 0xff;
    assert_eq!(client.post(HOOK, bytes).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a10_a_body_with_a_content_encoding_is_refused() {
    let mut server = serve(allow()).await;
    // An empty gzip stream.
    let bomb: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for encoding in ["gzip", "br", "identity"] {
        let request = Request::post(HOOK).header("content-type", "application/json");
        let request = request.header("content-encoding", encoding).body(Full::from(bomb)).unwrap();
        let reply = Client::connect(server.address, server.client_config()).await.send(request).await;
        assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(server.event().await, "refused media_type");
    }
}

#[tokio::test]
async fn a11_reviews_without_a_valid_request_get_400() {
    let server = serve(allow()).await;
    let mut client = server.connect().await;
    for (from, to, status) in [
        (r#""object":{}"#, r#""object":null"#, StatusCode::OK),
        ("CREATE", "DELETE", StatusCode::OK),
        ("CREATE", "CONNECT", StatusCode::OK),
        ("CREATE", "PATCH", StatusCode::BAD_REQUEST),
        ("admission.k8s.io/v1", "admission.k8s.io/v2", StatusCode::BAD_REQUEST),
        (r#""kind":"AdmissionReview","#, "", StatusCode::BAD_REQUEST),
        (r#""request":{"#, r#""request":null,"other":{"#, StatusCode::BAD_REQUEST),
    ] {
        let body = review("1");
        assert!(body.contains(from), "{from}");
        assert_eq!(client.post(HOOK, body.replace(from, to)).await.status, status, "{to}");
    }
}

/// All of them at once.
async fn futures_of<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => {
                done.push(output);
                false
            }
            std::task::Poll::Pending => true,
        });
        if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}
