//! Calls through the API server, at a steady rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fire::rig::send;
use http::Method;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::api::{JSON, config_map, pod};
use crate::cluster::Cluster;

/// The time between two creates of one kind.
const PAUSE: Duration = Duration::from_millis(100);
/// ConfigMaps that are created at a time: in trouble each waits.
const CHECKS: u32 = 3;
/// Slow creates at a time, more than the webhook decides and queues.
const SLOW: usize = 16;

/// Creates of pods and ConfigMaps, until it is dropped.
pub(crate) struct Load {
    is_in_trouble: Arc<AtomicBool>,
    _tasks: JoinSet<()>,
}

impl Load {
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let is_in_trouble = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        let create = |plural: &str| {
            let uri = format!("/api/v1/namespaces/{}/{plural}?dryRun=All", cluster.target);
            let client = cluster.client.clone();
            move |object: Value| {
                let (client, uri) = (client.clone(), uri.clone());
                // An error is an outcome that the metrics show.
                async move { send(&client, Method::POST, &uri, JSON, &object).await.map_or_else(drop, drop) }
            }
        };
        let (pods, config_maps) = (create("pods"), create("configmaps"));
        let trouble = Arc::clone(&is_in_trouble);
        tasks.spawn(every(PAUSE, move |number| pods(next_pod(number, trouble.load(Ordering::Relaxed)))));
        for _ in 0..CHECKS {
            let (trouble, next) = (Arc::clone(&is_in_trouble), config_maps.clone());
            let create = move |number| next(next_config_map(number, trouble.load(Ordering::Relaxed)));
            tasks.spawn(every(PAUSE * CHECKS, create));
        }
        for number in 0..SLOW {
            let (trouble, slow) = (Arc::clone(&is_in_trouble), config_maps.clone());
            tasks.spawn(every(PAUSE, move |_| {
                let call = slow(config_map(&format!("slow-{number}"), "slow", ""));
                let is_due = trouble.load(Ordering::Relaxed);
                async move {
                    if is_due {
                        call.await;
                    }
                }
            }));
        }
        Self { is_in_trouble, _tasks: tasks }
    }

    /// From now on many calls are slow, and others fail.
    pub(crate) fn trouble(&self) {
        self.is_in_trouble.store(true, Ordering::Relaxed);
    }
}

/// Most pods are injected, one in ten has a conflict and one in fifty is denied: half of all in trouble.
fn next_pod(number: u64, is_in_trouble: bool) -> Value {
    let volumes: &[&str] = match number % 50 {
        5 => &["data"],
        tenth if tenth % 10 == 3 => &["cache"],
        _ if is_in_trouble && number.is_multiple_of(2) => &["data"],
        _ => &[],
    };
    pod(&format!("web-{number}"), volumes)
}

/// One ConfigMap in fifty is denied; in trouble, two of five end without a verdict.
fn next_config_map(number: u64, is_in_trouble: bool) -> Value {
    let outcome = match (number % 50, number % 5) {
        (3, _) => "deny",
        (_, 1) if is_in_trouble => "error",
        (_, 4) if is_in_trouble => "panic",
        _ => "",
    };
    config_map(&format!("map-{number}"), "check", outcome)
}

async fn every<F: Future<Output = ()>>(pause: Duration, call: impl Fn(u64) -> F) {
    let mut ticks = interval(pause);
    for number in 0.. {
        ticks.tick().await;
        call(number).await;
    }
}
