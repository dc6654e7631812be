//! Requests and their answers: reviews, patches, versions, and what is no review.

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use vestibule_admission::{Hook, Verdict};
use vestibule_patch::Operation;

use crate::harness::{Do, HOOK, TIMEOUT, allow, review, review_of, serve, serve_limited, serve_with};

#[tokio::test]
async fn a_review_is_answered_with_a_review() {
    let mut server = serve(allow()).await;
    let reply = server.connect().await.post("/hook?timeout=10s", review("7-f")).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("content-type"), "application/json");
    let expected = serde_json::json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": "7-f", "allowed": true},
    });
    assert_eq!(reply.json(), expected);
    assert_eq!(server.event().await, "hook 7-f CREATE demo/web allowed");
}

#[tokio::test]
async fn a_mutation_is_answered_with_a_patch() {
    let mutate = || async {
        let value = serde_json::value::to_raw_value("yes").unwrap().into();
        Verdict::mutated(vec![Operation::Add { path: "/seen".parse().unwrap(), value }])
    };
    let mut server = serve(Do(mutate)).await;
    let reply = server.connect().await.review().await;
    assert_eq!(reply.json()["response"]["patchType"], "JSONPatch");
    assert_eq!(server.event().await, "hook 1 CREATE demo/web mutated");
}

#[tokio::test]
async fn an_object_without_a_name_is_reported_by_its_prefix() {
    let mut server = serve(allow()).await;
    let body = review_of("v1", "1", r#""name":"""#, r#"{"metadata":{"generateName":"web-"}}"#);
    server.connect().await.post(HOOK, body).await;
    assert_eq!(server.event().await, "hook 1 CREATE demo/web-***** allowed");
}

#[tokio::test]
async fn a_hook_takes_post_only() {
    let mut server = serve(Do(|| async { panic!("must not run") })).await;
    let mut client = server.connect().await;
    for method in [Method::GET, Method::PUT, Method::HEAD, Method::DELETE] {
        let reply = client.method(method, HOOK).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(reply.header("allow"), "POST");
        assert_eq!(server.event().await, "refused method");
    }
}

#[tokio::test]
async fn paths_are_compared_exactly_and_never_redirected() {
    let server = serve(allow()).await;
    for path in ["/", "/hook/", "//hook", "/Hook", "/hook/../hook", "/%68ook", "/nothing"] {
        let reply = server.connect().await.post(path, review("1")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        assert!(reply.header("content-type").starts_with("text/plain"));
        assert!(reply.body.len() < 100);
        assert_eq!(reply.header("location"), "");
    }
}

/// Of several versions that register themselves, another one may serve it.
#[tokio::test]
async fn an_unknown_path_may_be_retried_at_another_replica() {
    let mut server = serve_limited(|settings| settings.ask_elsewhere = true).await;
    let reply = server.connect().await.post("/nothing", review("1")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((reply.header("retry-after"), reply.header("connection")), ("0", "close"));
    let text = "service unavailable: no webhook is served at this path here; another replica may serve it";
    assert_eq!(reply.body, text);
    assert_eq!(server.event().await, "refused unknown_path");
}

#[tokio::test]
async fn only_json_is_taken() {
    let server = serve(allow()).await;
    for (media_type, expected) in [
        (Some("application/json"), StatusCode::OK),
        (Some("application/json; charset=utf-8"), StatusCode::OK),
        (Some("Application/JSON"), StatusCode::OK),
        (None, StatusCode::OK),
        (Some("text/plain"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (Some("application/jsonp"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (Some("application/yaml"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (Some(""), StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let mut request = Request::post(HOOK);
        if let Some(media_type) = media_type {
            request = request.header("content-type", media_type);
        }
        let request = request.body(Full::from(review("1"))).unwrap();
        let reply = server.connect().await.send(request).await;
        assert_eq!(reply.status, expected, "{media_type:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_review_gets_400_and_the_connection_stays() {
    let mut server = serve(allow()).await;
    let mut client = server.connect().await;
    let whole = review("1");
    for body in ["", "[]", "{}", "null", "\u{feff}{}", &whole[..whole.len() / 2], r#"{"request":{}}"#] {
        let reply = client.post(HOOK, body.to_owned()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
        assert!(reply.header("content-type").starts_with("text/plain"));
        assert!(!reply.body.is_empty() && reply.body.len() < 200, "{}", reply.body);
        assert_eq!(server.event().await, "refused unreadable");
        assert_eq!(client.review().await.status, StatusCode::OK);
        server.event().await;
    }
}

#[tokio::test]
async fn each_path_has_its_own_hook() {
    let server = serve_with(
        |_| {},
        |server| {
            let deny = Do(|| async { vestibule_admission::Denial::new("no").into() });
            server.route("/a", Hook::validating("a", allow()), TIMEOUT).route(
                "/b",
                Hook::validating("b", deny),
                TIMEOUT,
            )
        },
    )
    .await;
    let mut client = server.connect().await;
    assert_eq!(client.post("/a", review("1")).await.json()["response"]["allowed"], true);
    let denied = client.post("/b", review("1")).await;
    assert_eq!(denied.status, StatusCode::OK);
    assert_eq!(denied.json()["response"]["status"]["code"], 403);
}
