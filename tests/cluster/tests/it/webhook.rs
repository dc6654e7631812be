//! A webhook for one test: an app, served by replicas behind a Service, and registered.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kube::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use vestibule::identity::{Identity, Local};
use vestibule::{App, ClientSettings, Options, Registration, Target};
use vestibule_injector::{Namespaces, app};
use vestibule_rules::RuleSet;
use vestibule_server::Shutdown;
use vestibule_testenv::{Installed, Service};

use crate::cluster::{Cluster, TEST};
use crate::decisions::Decisions;

/// Long enough for the balancer, which asks every 50 ms, to learn that a replica is not ready; also on a busy machine.
pub(crate) const DRAIN_DELAY: Duration = Duration::from_secs(3);
/// Long enough for connections in use. The API server keeps idle ones for 90 s; a test does not wait for them.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);
/// Longer than any drain, so that only the drain's limit ends a silent connection.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// A webhook that the API server calls for objects in the test's namespaces, until it is dropped.
pub(crate) struct Webhook {
    pub(crate) decisions: Decisions,
    service: Service,
    target: Target,
    authority: PathBuf,
    installed: Option<Installed>,
}

/// One replica of a webhook, in the process of the test.
pub(crate) struct Replica {
    address: SocketAddr,
    probes: SocketAddr,
    shutdown: Shutdown,
    ended: JoinHandle<()>,
}

impl Cluster {
    /// Serves `app` by one replica and returns when the API server calls it.
    pub(crate) async fn serve(&self, app: App) -> Webhook {
        self.serve_as(app, |_| {}).await
    }

    /// As [`Cluster::serve`], after a change to each hook of the registration.
    pub(crate) async fn serve_as(&self, app: App, change: impl Fn(&mut Value)) -> Webhook {
        let mut webhook = self.webhook().await;
        let registration = webhook.registration(&app);
        webhook.replica(app).await;
        webhook.service.wait_for_replicas(1).await.unwrap();
        webhook.register(self, &registration, change).await;
        webhook
    }

    /// Serves the injector by `rules`; it watches the namespaces of the API server.
    pub(crate) async fn serve_rules(&self, rules: RuleSet) -> Webhook {
        self.serve(app(rules, Namespaces::watched(self.client())).unwrap()).await
    }

    /// A webhook without replicas and without a registration.
    pub(crate) async fn webhook(&self) -> Webhook {
        self.webhook_behind("webhook").await
    }

    /// The same behind a Service of this name.
    pub(crate) async fn webhook_behind(&self, name: &str) -> Webhook {
        let service = self.environment.service(self.home.name(), name).await.unwrap();
        let target = format!("{}/{name}:{}", self.home.name(), service.port());
        Webhook {
            decisions: Decisions::default(),
            service,
            target: Target::service(&target).unwrap(),
            authority: self.environment.folder().join(self.home.name()),
            installed: None,
        }
    }
}

impl Webhook {
    /// Adds a replica, with the shared CA and a certificate of its own.
    pub(crate) async fn replica(&self, app: App) -> Replica {
        self.replica_with(app, self.options(), true).await
    }

    /// Adds a replica that looks up objects as `client`, and does not wait until it is ready.
    pub(crate) async fn replica_beside(&self, app: App, client: Client) -> Replica {
        let mut options = self.options();
        options.client = Some(client);
        self.replica_with(app, options, false).await
    }

    /// Adds a replica that authenticates its callers.
    pub(crate) async fn replica_for(&self, app: App, clients: ClientSettings, client: Client) -> Replica {
        let mut options = self.options();
        (options.clients, options.client) = (clients, Some(client));
        self.replica_with(app, options, true).await
    }

    /// The DNS name of its Service.
    pub(crate) fn host(&self) -> String {
        self.service.host()
    }

    /// `https://NAME.NS.svc:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("https://{}:{}", self.service.host(), self.service.port())
    }

    fn options(&self) -> Options {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut options = Options::new(anywhere, self.identity());
        options.settings.probes = Some(anywhere);
        options.settings.handshake_timeout = HANDSHAKE_TIMEOUT;
        options.settings.drain_delay = DRAIN_DELAY;
        options.settings.drain_timeout = DRAIN_TIMEOUT;
        options.observer = Some(Arc::new(self.decisions.clone()));
        options
    }

    async fn replica_with(&self, app: App, options: Options, waits_for_it: bool) -> Replica {
        let bound = app.bind(options).await.unwrap();
        let (address, shutdown) = (bound.address(), bound.shutdown());
        let probes = bound.probes_address().unwrap();
        self.service.add_replica(address, waits_for_it.then_some(probes)).unwrap();
        Replica { address, probes, shutdown, ended: tokio::spawn(async { _ = bound.serve().await }) }
    }

    /// Drains a replica as a roll-out does, and returns when it has ended.
    pub(crate) async fn drain(&self, replica: Replica) {
        replica.shutdown.drain();
        replica.ended.await.unwrap();
        self.service.remove_replica(replica.address);
    }

    pub(crate) async fn wait_for_replicas(&self, count: usize) {
        self.service.wait_for_replicas(count).await.unwrap();
    }

    pub(crate) fn registration(&self, app: &App) -> Registration {
        app.registration(&self.target, &self.identity().ca_bundle().unwrap()).unwrap()
    }

    /// Registers the hooks for objects in the test's namespaces, and returns when the API server calls them.
    pub(crate) async fn register(
        &mut self,
        cluster: &Cluster,
        registration: &Registration,
        change: impl Fn(&mut Value),
    ) {
        let home = cluster.home.name();
        let mut objects = registration.objects();
        for object in &mut objects {
            // Several tests may register the same app at a time.
            object["metadata"]["name"] =
                json!(format!("{home}-{}", object["metadata"]["name"].as_str().unwrap()));
            for hook in object["webhooks"].as_array_mut().unwrap() {
                hook["namespaceSelector"]["matchLabels"][TEST] = json!(home);
                change(hook);
            }
        }
        self.installed = Some(cluster.environment.install(objects).await.unwrap());
    }

    pub(crate) fn ca_bundle(&self) -> String {
        self.identity().ca_bundle().unwrap().to_string()
    }

    fn identity(&self) -> Arc<dyn Identity> {
        Arc::new(Local::open(&self.authority, &self.target.dns_names(), SystemTime::now()).unwrap())
    }
}

impl Replica {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The body of `/readyz`.
    pub(crate) async fn readiness(&self) -> String {
        self.ask("/readyz").await
    }

    pub(crate) async fn metrics(&self) -> String {
        self.ask("/metrics").await
    }

    async fn ask(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.probes).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: probes\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}
