//! A03: more large bodies at once than the body memory has room for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use webhook_load::Failure;

use super::fixture::{
    QUICK, all_admitted, answered_quickly, hook, mebibytes, millis, review, review_of, summary,
};
use super::memory_after_load;
use super::{Lateness, Row};
use crate::rig::BackgroundLoad;

const UPLOADS: usize = 1_000;
const BYTES: usize = 8 << 20;
const MOST: u64 = 128 << 10;

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let server = super::fixture::webhook(&[]).await?;
    let before = memory_after_load::warm_up(&server).await?;
    let honest = BackgroundLoad::start(server.caller()?, 50.0, QUICK, hook("label"), review()?);
    sleep(Duration::from_secs(1)).await;
    server.forget_peak();

    let (caller, review) =
        (Arc::new(server.caller_by(server.address())?.retries(0)), Arc::new(review_of(BYTES)?));
    let mut uploads = JoinSet::new();
    for _ in 0..UPLOADS {
        let (caller, review) = (Arc::clone(&caller), Arc::clone(&review));
        let hook = hook("label").timeout(Duration::from_secs(30));
        uploads.spawn(async move {
            match caller.call(&review, &hook).await {
                Ok(answer) => Failure::Status(answer.status),
                Err(error) => Failure::from(&error),
            }
        });
    }
    let mut became = BTreeMap::<Failure, usize>::new();
    while let Some(answer) = uploads.join_next().await {
        *became.entry(answer?).or_default() += 1;
    }
    drop(caller);
    let peak = server.memory()?.peak;
    let honest = honest.stop().await?;
    // Some uploads were admitted; every other one got 429 or 408.
    let uploaded = became.get(&Failure::Status(200)).copied().unwrap_or_default();
    let only_expected = became.keys().all(|what| matches!(what, Failure::Status(200 | 408 | 429)));
    let became =
        became.iter().map(|(what, count)| format!("{count} x {what}")).collect::<Vec<_>>().join(", ");
    let done = format!("{UPLOADS} uploads of 8 MiB at once");
    let p99 = honest.latency.quantile(0.99);
    Ok(vec![
        Row::of("A03", done.clone()).seen(became).judged(
            format!("{} at most, {uploaded} admitted", mebibytes(peak)),
            format!("{} resident; some admitted, the others 429 or 408", mebibytes(MOST)),
            peak <= MOST && uploaded > 0 && only_expected,
        ),
        Row::of("A03", format!("{done}; 50 calls/s of an API server meanwhile"))
            .seen(summary(&honest))
            .judged(
                format!("p99 {}, {} failed", millis(p99), honest.failures()),
                "p99 100 ms, 0 failed",
                answered_quickly(&honest),
            )
            .late(all_admitted(&honest), [Lateness::p99(QUICK, &honest)]),
        memory_after_load::compare("A03", &server, before).await?,
    ])
}
