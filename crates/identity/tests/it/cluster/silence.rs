//! What is never logged.

use tempfile::NamedTempFile;
use vestibule_identity::SelfManaged;
use vestibule_testenv as testenv;

use super::fixture::{Fixture, count, fleeting, until, within};

#[tokio::test]
async fn keys_reach_no_log_at_any_level_and_a_first_start_logs_no_error() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let log = NamedTempFile::new().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.reopen().unwrap());
    // The runtime of this test has one thread: all tasks log here.
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let fixture = Fixture::with(&env, fleeting()).await;
    // With one subscriber in the process, whichever thread meets a line first decides for all whether it is wanted; with
    // two, each is asked.
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    tracing::callsite::rebuild_interest_cache();
    let mut canaries = Vec::new();
    let mut remember = async || {
        let data = fixture.secret().await.data.unwrap_or_default();
        for (_, key) in data.into_iter().filter(|(field, _)| field.ends_with(".key")) {
            let pem = String::from_utf8(key.0.clone()).unwrap();
            canaries.push(pem.lines().nth(2).unwrap().to_owned());
            let wire = serde_json::to_string(&k8s_openapi::ByteString(key.0)).unwrap();
            canaries.push(wire[wire.len() / 2..wire.len() / 2 + 40].to_owned());
        }
    };
    let client = env.admin().unwrap();
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    within(10, &replica).await;
    let text = || std::fs::read_to_string(log.path()).unwrap();
    assert!(text().contains("was signed by CA"), "the log is heard");
    let errors: Vec<_> = text().lines().filter(|line| line.contains("Z ERROR ")).map(str::to_owned).collect();
    assert!(text().contains("Z TRACE ") && errors.is_empty(), "{errors:?}");

    remember().await;
    fixture.annotate_secret("vestibule.dev/rotate", "1").await;
    until("a rotation", 10, async || count(&fixture.bundles().await[1]) == 3).await;
    remember().await;
    drop(replica);
    let text = text();
    assert_eq!(canaries.len(), 8);
    assert!(canaries.iter().all(|canary| !text.contains(canary.as_str())));
}
