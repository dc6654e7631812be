//! Roll-outs of replicas without a lost call.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, on};

use crate::cluster::{Cluster, Namespace, Reply};
use crate::samples::config_map;
use crate::webhook::{DRAIN_DELAY, DRAIN_TIMEOUT};

const PER_SECOND: usize = 200;

fn stamps() -> App {
    async fn stamp(mut object: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
        // As slow as a lookup, so that calls are in flight at every moment.
        sleep(Duration::from_millis(90)).await;
        object.data.get_or_insert_default().insert("stamp".to_owned(), "ours".to_owned());
        Ok(object)
    }
    // A lost call is refused under Fail, and would be admitted without a stamp under Ignore.
    let creations = on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(30);
    App::new("stamps").mutate("stamp", creations, stamp)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_one_of_two_replicas_loses_no_call() {
    let Some(cluster) = Cluster::shared().await else { return };
    let mut webhook = cluster.webhook().await;
    let old = webhook.replica(stamps()).await;
    let _other = webhook.replica(stamps()).await;
    webhook.wait_for_replicas(2).await;
    webhook.register(&cluster, &webhook.registration(&stamps()), |_| {}).await;
    let namespace = cluster.namespace(&[]).await;

    let (end, ended) = watch::channel(false);
    let load = tokio::spawn(load(namespace, ended));
    webhook.decisions.wait_for(PER_SECOND).await;
    // A client that never sends a request and never disconnects.
    let _held = TcpStream::connect(old.address()).unwrap();
    let began = Instant::now();
    webhook.drain(old).await;
    let took = began.elapsed();
    let _new = webhook.replica(stamps()).await;
    webhook.wait_for_replicas(2).await;
    webhook.decisions.wait_for(webhook.decisions.made().len() + PER_SECOND).await;
    end.send(true).unwrap();
    let replies = load.await.unwrap();

    let failed: Vec<_> = replies.iter().filter(|reply| !is_stamped(reply)).map(|reply| &reply.text).collect();
    assert!(failed.is_empty(), "{} of {} failed: {:?}", failed.len(), replies.len(), failed.first());
    assert!(took >= DRAIN_DELAY, "the replica went after {took:?}, before its clients could know");
    assert!(took < DRAIN_DELAY + 2 * DRAIN_TIMEOUT, "the drain is not bounded: {took:?}");
    assert_eq!(webhook.decisions.made().len(), replies.len(), "each call is answered once");
}

/// Creates objects until `ended` is true: [`PER_SECOND`], or fewer on a machine that cannot answer as many, where a fixed rate
/// would let calls pile up until the drain ends. At most 20 at a time, fewer than the API server's idle connections (25), so that
/// connections are reused.
async fn load(namespace: Namespace, ended: watch::Receiver<bool>) -> Vec<Reply> {
    const AT_A_TIME: usize = 20;
    let mut clients = JoinSet::new();
    for client in 0..AT_A_TIME {
        let (namespace, ended) = (namespace.clone(), ended.clone());
        clients.spawn(async move {
            let mut ticks = interval(Duration::from_secs(1) * AT_A_TIME as u32 / PER_SECOND as u32);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut replies = Vec::new();
            while !*ended.borrow() {
                ticks.tick().await;
                let object = config_map(&format!("load-{client}-{}", replies.len()));
                replies.push(namespace.create_dry_run(&object).await);
            }
            replies
        });
    }
    clients.join_all().await.into_iter().flatten().collect()
}

fn is_stamped(reply: &Reply) -> bool {
    let object: Value = serde_json::from_str(&reply.text).unwrap_or_default();
    reply.status == 201 && object["data"]["stamp"] == "ours"
}
