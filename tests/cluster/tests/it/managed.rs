//! Webhooks that register themselves, from an empty cluster to the next version, without a failed create.

mod outside;

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use http::{Method, Request};
use http_body_util::{BodyStream, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use vestibule::Operation::Create;
use vestibule::identity::{NamespacedName, Settings};
use vestibule::{App, Change, Context, FailurePolicy, Options, Reject, Target, on};
use vestibule_manifests::Installation;
use vestibule_server::Shutdown;
use vestibule_testenv::Service;

use crate::cluster::{Cluster, Namespace, Reply, TEST};
use crate::samples::config_map;
use crate::webhook::{DRAIN_DELAY, DRAIN_TIMEOUT};

/// A webhook whose hooks each write their name into the object. They fail closed, so a failed call is a failed create.
fn app(home: &str, hooks: &[&str]) -> App {
    let namespaces = format!("{TEST}={home}");
    hooks.iter().fold(App::new(format!("managed-{home}")), |app, hook| {
        let creations = on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Fail).namespaces(&namespaces);
        let name = (*hook).to_owned();
        app.mutate(hook, creations, move |mut object: ConfigMap, _: Context| {
            let name = name.clone();
            async move {
                object.data.get_or_insert_default().insert(name, "called".to_owned());
                Ok::<_, Reject>(object)
            }
        })
    })
}

struct Fixture {
    cluster: Cluster,
    service: Service,
    target: Target,
    /// The client of the ServiceAccount to which the manifests grant rights.
    account: Client,
}

struct Replica {
    address: SocketAddr,
    probes: Option<SocketAddr>,
    shutdown: Shutdown,
    is_ready: Pin<Box<dyn Future<Output = ()> + Send>>,
    ended: JoinHandle<Result<usize, vestibule::ServeError>>,
}

/// Continuous creates, and the API server's answers.
#[derive(Clone, Default)]
struct Load {
    made: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    count: usize,
    failures: Vec<String>,
    /// The hooks that were called for the last one.
    called: Vec<String>,
}

impl Fixture {
    async fn new() -> Option<Self> {
        let cluster = Cluster::shared().await?;
        let home = cluster.home.name().to_owned();
        let service = cluster.environment.service(&home, "webhook").await.unwrap();
        let target = Target::service(&format!("{home}/webhook:{}", service.port())).unwrap();
        let account = cluster.environment.service_account(&home, "webhook").await.unwrap();
        Some(Self { cluster, service, target, account })
    }

    fn app(&self, hooks: &[&str]) -> App {
        app(self.cluster.home.name(), hooks)
    }

    /// Applies all manifests as a GitOps tool does: by server-side apply, with force.
    async fn apply(&self, app: &App) {
        let mut installation = Installation::of(app, self.target.clone());
        installation.account = Some(format!("{}/webhook", self.cluster.home.name()).parse().unwrap());
        for manifest in installation.manifests(app).unwrap() {
            let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
            let namespace = text("/metadata/namespace").map(|name| format!("/namespaces/{name}"));
            let kind = text("/kind").unwrap().to_lowercase();
            let (version, name) = (text("/apiVersion").unwrap(), text("/metadata/name").unwrap());
            let namespace = namespace.unwrap_or_default();
            let options = "fieldManager=gitops&force=true&fieldValidation=Strict";
            let uri = format!("/apis/{version}{namespace}/{kind}s/{name}?{options}");
            self.send(Method::PATCH, &uri, "application/apply-patch+yaml", &manifest).await.object();
        }
    }

    async fn replica(&self, app: App) -> Replica {
        self.replica_by(self.account.clone(), app, Duration::from_millis(500)).await
    }

    async fn settling(&self, app: App, settle: Duration) -> Replica {
        self.replica_by(self.account.clone(), app, settle).await
    }

    /// A replica with this client.
    async fn replica_by(&self, client: Client, app: App, settle: Duration) -> Replica {
        let settings = app.managed(app.identity_settings(self.name()), &self.target).unwrap();
        let replica = self.unrouted(client, app, settings, settle, |_| {}).await;
        self.service.add_replica(replica.address, replica.probes).unwrap();
        replica
    }

    fn name(&self) -> NamespacedName {
        format!("{}/webhook", self.cluster.home.name()).parse().unwrap()
    }

    /// A replica that is not yet behind the Service.
    async fn unrouted(
        &self,
        client: Client,
        app: App,
        mut settings: Settings,
        settle: Duration,
        change: impl FnOnce(&mut Options),
    ) -> Replica {
        (settings.policy.hold, settings.policy.hold_cold) = (Duration::from_secs(2), Duration::from_secs(2));
        settings.policy.recheck = Duration::from_secs(1);
        settings.settle = settle;
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut options = Options::self_managed(anywhere, client, settings).unwrap();
        options.settings.probes = Some(anywhere);
        options.settings.drain_delay = DRAIN_DELAY;
        options.settings.drain_timeout = DRAIN_TIMEOUT;
        change(&mut options);
        let bound = app.bind(options).await.unwrap();
        let (address, probes, shutdown) = (bound.address(), bound.probes_address(), bound.shutdown());
        let is_ready = Box::pin(bound.ready());
        Replica { address, probes, shutdown, is_ready, ended: tokio::spawn(bound.serve()) }
    }

    /// Drains a replica as a roll-out does.
    async fn drain(&self, replica: Replica) {
        replica.shutdown.drain();
        replica.ended.await.unwrap().unwrap();
        self.service.remove_replica(replica.address);
    }

    async fn configuration(&self) -> Value {
        self.send(Method::GET, &self.path(), "application/json", &Value::Null).await.object()
    }

    async fn patch(&self, patch: &Value) {
        self.send(Method::PATCH, &self.path(), "application/json-patch+json", patch).await.object();
    }

    fn path(&self) -> String {
        let name = format!("managed-{}", self.cluster.home.name());
        format!("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{name}")
    }

    async fn send(&self, method: Method, uri: &str, media_type: &str, body: &Value) -> Reply {
        Reply::to(&self.cluster.client(), method, uri, media_type, body).await
    }
}

impl Load {
    fn begin(namespace: Namespace) -> Self {
        let load = Self::default();
        let made = Arc::clone(&load.made);
        tokio::spawn(async move {
            // Ends with the runtime of the test.
            loop {
                let reply = namespace.create_dry_run(&config_map("load")).await;
                let mut made = made.lock().unwrap();
                made.count += 1;
                if reply.status == 201 {
                    let data = reply.json()["data"].as_object().cloned().unwrap_or_default();
                    made.called = data
                        .into_iter()
                        .filter(|(_, value)| value == "called")
                        .map(|(name, _)| name)
                        .collect();
                } else {
                    let failure = format!("create {}: {}", made.count, reply.text);
                    made.failures.push(failure);
                }
            }
        });
        load
    }

    /// Waits for `count` more creates.
    async fn more(&self, count: usize) {
        let now = self.made.lock().unwrap().count;
        self.until(&format!("{count} more creates"), |made| made.count >= now + count).await;
    }

    /// Waits until exactly these hooks are called.
    async fn until_called(&self, hooks: &[&str]) {
        self.until(&format!("{hooks:?} to be called"), |made| made.called == hooks).await;
    }

    async fn until(&self, what: &str, is_so: impl Fn(&Progress) -> bool) {
        let start = Instant::now();
        while !is_so(&self.made.lock().unwrap()) {
            assert!(start.elapsed() < Duration::from_secs(60), "waited for {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.assert_none_failed(what);
    }

    fn assert_none_failed(&self, until: &str) {
        let made = self.made.lock().unwrap();
        let (failed, count) = (made.failures.len(), made.count);
        assert_eq!(failed, 0, "{failed} of {count} failed before {until}: {:?}", made.failures.first());
    }
}

/// Regression: SIGTERM arrived during the settling time, and the entries were written seven seconds later. With `failurePolicy: Fail`
/// and no replica left, every matching create was refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_drains_registers_nothing() {
    let Some(fixture) = Fixture::new().await else { return };
    let load = Load::begin(fixture.cluster.namespace(&[]).await);
    fixture.apply(&fixture.app(&["first"])).await;
    // The settling time begins when the replica is ready; the drain takes three times as long.
    let mut replica = fixture.settling(fixture.app(&["first"]), Duration::from_secs(1)).await;
    replica.is_ready.as_mut().await;
    let marked = fixture.configuration().await;
    assert!(marked["metadata"]["annotations"]["vestibule.dev/ca-generation"].is_string(), "{marked}");
    assert!(marked["webhooks"].is_null(), "{marked}");
    let began = Instant::now();
    fixture.drain(replica).await;
    let took = began.elapsed();
    assert!(took >= DRAIN_DELAY, "{took:?}: the settling time may not have ended during the drain");
    let left = fixture.configuration().await;
    assert_eq!(left["metadata"]["resourceVersion"], marked["metadata"]["resourceVersion"], "{left}");
    load.more(50).await;
    load.assert_none_failed("the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_an_empty_cluster_to_the_next_version_no_create_fails() {
    let Some(fixture) = Fixture::new().await else { return };
    let (first, second) = (["first"], ["first", "second"]);
    let load = Load::begin(fixture.cluster.namespace(&[]).await);

    // All manifests are applied at once, and replicas start later.
    fixture.apply(&fixture.app(&first)).await;
    load.more(50).await;
    let old = fixture.replica(fixture.app(&first)).await;
    let other = fixture.replica(fixture.app(&first)).await;
    load.until_called(&first).await;

    // Applying the same manifests again changes nothing.
    let version = async || fixture.configuration().await["metadata"]["resourceVersion"].clone();
    let before = version().await;
    fixture.apply(&fixture.app(&first)).await;
    assert_eq!(version().await, before);
    // A restarted replica writes nothing either.
    fixture.drain(other).await;
    let other = fixture.replica(fixture.app(&first)).await;
    fixture.service.wait_for_replicas(2).await.unwrap();
    load.more(50).await;
    assert_eq!(version().await, before);

    // Removed entries are restored.
    fixture.patch(&json!([{ "op": "remove", "path": "/webhooks" }])).await;
    // A create may or may not fall into the gap.
    let back = async {
        while fixture.configuration().await["webhooks"].as_array().is_none_or(Vec::is_empty) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), back).await.unwrap();
    load.until_called(&first).await;
    load.more(50).await;

    // The next version has one more hook, which old replicas do not serve: it is called after they have ended.
    fixture.apply(&fixture.app(&second)).await;
    let new = fixture.replica(fixture.app(&second)).await;
    fixture.drain(other).await;
    fixture.service.wait_for_replicas(2).await.unwrap();
    load.more(100).await;
    assert_eq!(fixture.configuration().await["webhooks"].as_array().unwrap().len(), 1);
    let _another = fixture.replica(fixture.app(&second)).await;
    fixture.service.wait_for_replicas(3).await.unwrap();
    fixture.drain(old).await;
    load.until_called(&second).await;
    load.more(50).await;
    drop(new);
}

/// One of two webhook configurations is deleted, as a user does to switch a webhook off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_configuration_stops_no_new_replica() {
    let Some(fixture) = Fixture::new().await else { return };
    let namespaces = format!("{TEST}={}", fixture.cluster.home.name());
    let app = || {
        let creations = on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Fail).namespaces(&namespaces);
        fixture
            .app(&["first"])
            .validate("checked", creations, async |_: Change<ConfigMap>, _| Ok::<_, Reject>(()))
    };
    let load = Load::begin(fixture.cluster.namespace(&[]).await);
    fixture.apply(&app()).await;
    let old = fixture.replica(app()).await;
    load.until_called(&["first"]).await;
    let path = fixture.path().replace("mutating", "validating");
    let read = async || fixture.send(Method::GET, &path, "application/json", &Value::Null).await;
    let registered = async || {
        let is_filled = |object: &Value| object["webhooks"][0]["clientConfig"]["caBundle"].is_string();
        while !is_filled(&read().await.object()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), registered()).await.unwrap();

    fixture.send(Method::DELETE, &path, "application/json", &Value::Null).await.object();
    let new = fixture.replica(app()).await;
    fixture.service.wait_for_replicas(2).await.unwrap();
    fixture.drain(old).await;
    load.more(100).await;
    assert_eq!(read().await.status, 404, "a deleted configuration is not made again");

    // It is applied again, and filled as the first time.
    fixture.apply(&app()).await;
    tokio::time::timeout(Duration::from_secs(60), registered()).await.unwrap();
    load.more(50).await;
    drop(new);
}

/// A replica of the old version is cut off from the API server and still called, so it cannot delay the entries of the next version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_a_disconnected_old_replica_does_not_know_is_retried_on_another_replica() {
    let Some(fixture) = Fixture::new().await else { return };
    let (first, second) = (["first"], ["first", "second"]);
    // Sequential calls use one connection, which may never lead to the old replica.
    let mut loads = Vec::new();
    for _ in 0..16 {
        loads.push(Load::begin(fixture.cluster.namespace(&[]).await));
    }
    let all_call = async |hooks: &[&str]| {
        for load in &loads {
            load.until_called(hooks).await;
        }
    };
    fixture.apply(&fixture.app(&first)).await;
    let cut = watch::Sender::new(false);
    let client = severed(&fixture.account, &cut);
    let old = fixture.replica_by(client, fixture.app(&first), Duration::from_millis(500)).await;
    all_call(&first).await;

    cut.send_replace(true);
    fixture.apply(&fixture.app(&second)).await;
    let _new = (fixture.replica(fixture.app(&second)).await, fixture.replica(fixture.app(&second)).await);
    all_call(&second).await;
    fixture.service.wait_for_replicas(3).await.unwrap();
    for load in &loads {
        load.more(20).await;
    }
    drop(old);
}

/// A client that receives no more answers once `cut` is set.
fn severed(inner: &Client, cut: &watch::Sender<bool>) -> Client {
    let (inner, cut) = (inner.clone(), cut.subscribe());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, mut cut) = (inner.clone(), cut.clone());
        async move {
            // The sender lives until the end of the test.
            let _ = cut.wait_for(|cut| !*cut).await;
            let response = inner.send(request).await?;
            Ok::<_, kube::Error>(response.map(|body| {
                StreamBody::new(BodyStream::new(body).then(move |said| {
                    let mut cut = cut.clone();
                    async move {
                        let _ = cut.wait_for(|cut| !*cut).await;
                        said
                    }
                }))
            }))
        }
    });
    Client::new(service, "default")
}
