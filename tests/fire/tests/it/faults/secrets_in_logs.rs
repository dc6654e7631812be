//! No log at any level contains a key or a bundle, through rotation, deletion and revocation.

use std::collections::BTreeSet;

use fire::{REVOKE, ROTATE};
use futures_util::StreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::{WatchStreamExt, watcher};
use std::sync::{Arc, Mutex};

use super::fixture::{Fixture, shared_or_skip, until};

/// Pieces of secret values: as PEM, as base64 of the API, and as Rust's debug output of bytes.
type Canaries = Arc<Mutex<BTreeSet<String>>>;

#[tokio::test]
async fn no_key_and_no_bundle_is_logged_at_any_level() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let canaries = Canaries::default();
    let watch =
        tokio::spawn(collect(fixture.secrets(), fixture.cluster.secret().to_owned(), canaries.clone()));
    let replica = fixture.cluster.start_unrouted(|command| {
        command.env("RUST_LOG", "trace");
    });
    let replica = replica.await.unwrap();
    fixture.cluster.route(&replica).unwrap();
    fixture.all_ready(std::slice::from_ref(&replica)).await;
    let log = replica.child().log();
    assert!(log.contains(" TRACE ") && log.contains("was signed by CA"), "the log is heard");
    let errors: Vec<_> = log.lines().filter(|line| line.contains(" ERROR ")).collect();
    assert!(errors.is_empty(), "a first start has none: {errors:?}");

    let load = fixture.load();
    fixture.steady().await;
    for wish in [ROTATE, REVOKE] {
        let before = fixture.active().await;
        fixture.annotate(wish, "once").await;
        until("another CA signs", 20, async || fixture.active().await != before).await;
        fixture.steady().await;
    }
    fixture.delete_secret().await;
    until("the ring is back", 20, async || fixture.ring().await.is_some()).await;
    fixture.steady().await;
    load.stop().await;
    watch.abort();

    let (log, canaries) = (replica.child().log(), canaries.lock().unwrap());
    assert!(canaries.len() > 8 * 3, "{} canaries are few", canaries.len());
    let seen: Vec<_> = canaries.iter().filter(|canary| log.contains(canary.as_str())).collect();
    assert!(seen.is_empty(), "{} of {} pieces are in the log: {seen:?}", seen.len(), canaries.len());
}

async fn collect(secrets: kube::Api<Secret>, name: String, canaries: Canaries) {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut secrets = std::pin::pin!(watcher(secrets, config).applied_objects());
    while let Some(secret) = secrets.next().await {
        let data = secret.ok().and_then(|secret| secret.data).unwrap_or_default();
        for (field, bytes) in data {
            if field.ends_with(".key") || field.ends_with(".crt") {
                canaries.lock().unwrap().extend(pieces(&bytes));
            }
        }
    }
}

fn pieces(bytes: &ByteString) -> Vec<String> {
    const PIECE: usize = 48;
    let text = String::from_utf8(bytes.0.clone()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("-----") && line.len() >= PIECE);
    // The first line is the same for all keys of an algorithm.
    let mut pieces: Vec<String> = lines.skip(1).map(|line| line[..PIECE].to_owned()).collect();
    let carried = serde_json::to_value(bytes).unwrap();
    let carried = carried.as_str().unwrap();
    pieces.extend([carried.len() / 3, carried.len() / 2].map(|at| carried[at..at + PIECE].to_owned()));
    let shown = format!("{:?}", &bytes.0[bytes.0.len() / 2..bytes.0.len() / 2 + 16]);
    pieces.push(shown.trim_matches(['[', ']']).to_owned());
    pieces
}
