//! Replicas come and go, and no call is lost.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use vestibule::Operation::Create;
use vestibule::{App, Context, Reject, on};

use crate::cluster::{Cluster, Namespace, Reply};
use crate::samples::config_map;

const PER_SECOND: u32 = 200;

fn stamps() -> App {
    async fn stamp(mut object: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
        object.data.get_or_insert_default().insert("stamp".to_owned(), "ours".to_owned());
        Ok(object)
    }
    // A lost call would be admitted unstamped under Ignore, and is refused under Fail.
    App::new("stamps").mutate("stamp", on::<ConfigMap>([Create]).fail_closed(), stamp)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_one_of_two_replicas_loses_no_call() {
    let Some(cluster) = Cluster::shared().await else { return };
    let mut webhook = cluster.webhook().await;
    let (old, _other) = (webhook.replica(stamps()).await, webhook.replica(stamps()).await);
    webhook.wait_for_replicas(2).await;
    webhook.register(&cluster, &webhook.registration(&stamps()), |_| {}).await;
    let namespace = cluster.namespace(&[]).await;

    let load = tokio::spawn(load(namespace, Duration::from_secs(6)));
    let restart = async {
        // Under load from the first moment to the last: one second before, one after, and the restart in between.
        let served = async |count| while webhook.decisions.made().len() < count { tokio::task::yield_now().await };
        served(200).await;
        let began = Instant::now();
        let cut_off = webhook.drain(old).await;
        let _new = webhook.replica(stamps()).await;
        webhook.wait_for_replicas(2).await;
        (cut_off, began.elapsed())
    };
    let (cut_off, took) = restart.await;
    let replies = load.await.unwrap();

    let failed: Vec<_> = replies.iter().filter(|reply| !is_stamped(reply)).map(|reply| &reply.text).collect();
    assert!(failed.is_empty(), "{} of {} failed: {:?}", failed.len(), replies.len(), failed.first());
    assert_eq!(cut_off, 0, "connections were cut off");
    assert!(took < Duration::from_secs(12), "the restart took {took:?}");
    assert_eq!(webhook.decisions.made().len(), replies.len(), "each call was answered once");
}

/// Creates on a schedule, whether or not earlier ones have been answered.
async fn load(namespace: Namespace, length: Duration) -> Vec<Reply> {
    let mut ticks = interval(Duration::from_secs(1) / PER_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = JoinSet::new();
    for number in 0..length.as_secs() * u64::from(PER_SECOND) {
        ticks.tick().await;
        let namespace = namespace.clone();
        calls.spawn(async move { namespace.create_dry_run(&config_map(&format!("load-{number}"))).await });
    }
    calls.join_all().await
}

fn is_stamped(reply: &Reply) -> bool {
    let object: Value = serde_json::from_str(&reply.text).unwrap_or_default();
    reply.status == 201 && object["data"]["stamp"] == "ours"
}
