//! A webhook outside of the cluster: it is registered only when its Service or URL leads to this process.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use serde_json::Value;
use vestibule::Target;

use super::{Fixture, Load, Replica};

const SETTLE: Duration = Duration::from_millis(500);
const ANY_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Regression: a command of certificates.md, run on a laptop, wrote an entry with `failurePolicy: Fail` for a Service without pods.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_is_registered_from_outside_when_calls_to_it_arrive_in_this_process() {
    let Some(fixture) = Fixture::new().await else { return };
    let load = Load::begin(fixture.cluster.namespace(&[]).await);
    fixture.apply(&fixture.app(&["first"])).await;
    let laptop = fixture.laptop(fixture.target.clone(), ANY_ADDRESS).await;
    // No pod is behind the Service.
    fixture.until_asked().await;
    fixture.assert_not_registered().await;

    // Another process is behind it, with a certificate of the same CA: a replica in the cluster.
    let app = fixture.app(&["first"]);
    let settings = app.identity_settings(fixture.name());
    let pod = fixture.unrouted(fixture.account.clone(), app, settings, SETTLE, |_| {}).await;
    pod.is_ready.await;
    fixture.service.add_replica(pod.address, None).unwrap();
    fixture.until_asked().await;
    fixture.until_asked().await;
    fixture.assert_not_registered().await;

    fixture.service.remove_replica(pod.address);
    fixture.service.cut_connections();
    fixture.service.add_replica(laptop.address, laptop.probes).unwrap();
    load.until_called(&["first"]).await;
    load.more(50).await;
    load.assert_none_failed("the end");
    assert_eq!(fixture.question().await, None, "what it asked with is gone");
    let lasting = fixture.configuration().await;
    assert_eq!(lasting["webhooks"].as_array().unwrap().len(), 1, "{lasting}");
}

/// The API server calls an address instead of a Service, as with `serve --url`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_is_registered_when_calls_to_it_arrive_in_this_process() {
    let Some(fixture) = Fixture::new().await else { return };
    let load = Load::begin(fixture.cluster.namespace(&[]).await);
    fixture.apply(&fixture.app(&["first"])).await;
    let address = TcpListener::bind(ANY_ADDRESS).and_then(|free| free.local_addr()).unwrap();
    let url = Target::url(&format!("https://{address}")).unwrap();

    // This process listens at another address than the URL names.
    let elsewhere = fixture.laptop(url.clone(), ANY_ADDRESS).await;
    fixture.until_asked().await;
    fixture.assert_not_registered().await;
    elsewhere.shutdown.stop();
    elsewhere.ended.await.unwrap().unwrap();

    let _laptop = fixture.laptop(url, address).await;
    load.until_called(&["first"]).await;
    load.more(50).await;
    load.assert_none_failed("the end");
    assert_eq!(fixture.question().await, None, "the probe object is deleted");
    let lasting = fixture.configuration().await;
    let client = &lasting["webhooks"][0]["clientConfig"];
    assert_eq!(client["url"], format!("https://{address}/mutate/first"), "{lasting}");
    assert!(client["caBundle"].is_string() && client["service"].is_null(), "{lasting}");
}

/// The process ends before any call has arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_outside_leaves_nothing_behind() {
    let Some(fixture) = Fixture::new().await else { return };
    fixture.apply(&fixture.app(&["first"])).await;
    let laptop = fixture.laptop(fixture.target.clone(), ANY_ADDRESS).await;
    fixture.until("it asks", async || fixture.question().await.is_some()).await;
    laptop.shutdown.stop();
    laptop.ended.await.unwrap().unwrap();
    assert_eq!(fixture.question().await, None);
    fixture.assert_not_registered().await;
}

impl Fixture {
    /// A process that is registered at `target` and listens at `address`.
    async fn laptop(&self, target: Target, address: SocketAddr) -> Replica {
        let app = self.app(&["first"]);
        let mut settings = app.identity_settings(self.name());
        if let Target::Url(_) = target {
            settings.names = target.dns_names();
        }
        let settings = app.managed(settings, &target).unwrap();
        let client: Client = self.cluster.client().clone();
        self.unrouted(self.account.clone(), app, settings, SETTLE, |options| {
            options.settings.listen = address;
            options.must_reach = Some(target);
            options.client = Some(client);
        })
        .await
    }

    /// The name of the probe object, while there is one.
    async fn question(&self) -> Option<String> {
        let name = format!("managed-{}-reach", self.cluster.home.name());
        let uri = format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}");
        let reply = self.send(Method::GET, &uri, "application/json", &Value::Null).await;
        (reply.status == 200).then(|| reply.object()["metadata"]["uid"].to_string())
    }

    /// Waits until one more probe was sent and answered.
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
