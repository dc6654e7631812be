//! A webhook on a laptop: the Service is registered when it leads here, and not before.

use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use serde_json::Value;

use super::{Load, Replica, Stage};

const SETTLE: Duration = Duration::from_millis(500);

/// The line of certificates.md, typed on a laptop, wrote a live entry with `failurePolicy: Fail` to a Service without pods.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_is_registered_from_outside_when_calls_to_it_arrive_in_this_process() {
    let Some(stage) = Stage::new().await else { return };
    let load = Load::begin(stage.cluster.namespace(&[]).await);
    stage.apply(&stage.app(&["first"])).await;
    let laptop = stage.laptop().await;
    // No pod is behind the Service.
    stage.until_asked().await;
    stage.assert_not_registered().await;

    // Another process is, with a certificate of the same CA: a replica of the same webhook in the cluster.
    let app = stage.app(&["first"]);
    let settings = app.identity_settings(stage.name());
    let pod = stage.unrouted(stage.account.clone(), app, settings, SETTLE, |_| {}).await;
    pod.is_ready.await;
    stage.service.add_replica(pod.address, None).unwrap();
    stage.until_asked().await;
    stage.until_asked().await;
    stage.assert_not_registered().await;

    stage.service.remove_replica(pod.address);
    stage.service.cut_connections();
    stage.service.add_replica(laptop.address, laptop.probes).unwrap();
    load.until_called(&["first"]).await;
    load.more(50).await;
    load.assert_none_failed("the end");
    assert_eq!(stage.question().await, None, "what it asked with is gone");
    let lasting = stage.configuration().await;
    assert_eq!(lasting["webhooks"].as_array().unwrap().len(), 1, "{lasting}");
}

/// It is ended before anything ever arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_outside_leaves_nothing_behind() {
    let Some(stage) = Stage::new().await else { return };
    stage.apply(&stage.app(&["first"])).await;
    let laptop = stage.laptop().await;
    stage.until("it asks", async || stage.question().await.is_some()).await;
    laptop.shutdown.stop();
    laptop.ended.await.unwrap().unwrap();
    assert_eq!(stage.question().await, None);
    stage.assert_not_registered().await;
}

impl Stage {
    async fn laptop(&self) -> Replica {
        let app = self.app(&["first"]);
        let settings = app.managed(app.identity_settings(self.name()), &self.target).unwrap();
        let (target, client): (_, Client) = (self.target.clone(), self.cluster.client().clone());
        self.unrouted(self.account.clone(), app, settings, SETTLE, |options| {
            options.must_reach = Some(target);
            options.client = Some(client);
        })
        .await
    }

    /// What the API server is asked with, while it is.
    async fn question(&self) -> Option<String> {
        let name = format!("managed-{}-reach", self.cluster.home.name());
        let uri = format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}");
        let reply = self.send(Method::GET, &uri, "application/json", &Value::Null).await;
        (reply.status == 200).then(|| reply.object()["metadata"]["uid"].to_string())
    }

    /// Until one question more was asked and answered.
    async fn until_asked(&self) {
        self.until("it asks", async || self.question().await.is_some()).await;
        let before = self.question().await;
        self.until("it asks again", async || self.question().await.is_none_or(|now| Some(now) != before))
            .await;
    }

    async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let start = Instant::now();
        while !holds().await {
            assert!(start.elapsed() < Duration::from_secs(60), "waited until {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn assert_not_registered(&self) {
        let configuration = self.configuration().await;
        assert!(configuration["webhooks"].is_null(), "{configuration}");
    }
}
