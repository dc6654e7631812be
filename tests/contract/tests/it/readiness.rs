//! Rows 72 and 73: before the webhook is ready.

use http::StatusCode;
use vestibule_caller::Hook;

use crate::client::Client;
use crate::conversations::{VERSIONS, allowed, pod, review};
use crate::process::Process;

#[tokio::test]
async fn rows_72_and_73_callers_are_asked_to_retry_until_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ready");
    let server = Process::start(&[], &[("CONTRACT_READY_WHEN", file.to_str().unwrap())]);

    let (status, body) = server.probe("/readyz");
    assert_eq!((&*status, &*body), ("HTTP/1.1 503 Service Unavailable", "not ready: the file is there"));
    assert_eq!(server.probe("/livez").0, "HTTP/1.1 200 OK");
    for version in VERSIONS {
        let mut client = Client::connect(&server).await;
        let reply = client.review("/mutate/label", &review(pod()).version(version).build().unwrap()).await;
        assert_eq!((reply.status, reply.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, "1"));
        assert!(reply.is_short_text() && reply.body.contains("the file is there"), "{}", reply.body);
        // The API server would retry on the same connection; a new one may lead to a ready replica.
        assert_eq!(reply.header("connection"), "close");
    }

    // The webhook becomes ready after the refusal, and the same call succeeds.
    let review = review(pod()).build().unwrap();
    let label = Hook::mutating("label", "/mutate/label");
    let (outcome, ()) = tokio::join!(server.outcome(&review, &label), async {
        server.counted(r#"vestibule_admission_refused_total{reason="not_ready"}"#, 3.0).await;
        std::fs::write(&file, "").unwrap();
    });
    assert!(allowed(outcome).patch.is_some());
    assert_eq!(server.probe("/readyz").0, "HTTP/1.1 200 OK");
}
