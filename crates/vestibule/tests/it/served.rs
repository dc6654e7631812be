//! A served app, and a caller that trusts its certificate.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use vestibule::identity::{Identity, Local};
use vestibule::server::Shutdown;
use vestibule::{App, Options, ServeError};
use vestibule_caller::{Admission, Caller, FailurePolicy, Hook, Outcome, Review};

pub(crate) const NAME: &str = "hook.shop.svc";

pub(crate) struct Served {
    address: SocketAddr,
    pub(crate) caller: Caller,
    probes: SocketAddr,
    pub(crate) shutdown: Shutdown,
    ended: JoinHandle<Result<usize, ServeError>>,
}

impl Served {
    pub(crate) async fn start(app: App) -> Self {
        Self::start_with(app, None).await
    }

    /// Serves an app with lookups in the cluster of `client`.
    pub(crate) async fn beside(app: App, client: kube::Client) -> Self {
        Self::start_with(app, Some(client)).await
    }

    async fn start_with(app: App, client: Option<kube::Client>) -> Self {
        let identity = Local::in_memory(&[NAME], SystemTime::now()).unwrap();
        let bundle = identity.ca_bundle().unwrap();
        let mut options = options(Arc::new(identity));
        options.client = client;
        Self::start_as(app, options, &bundle).await
    }

    /// Serves an app whose callers trust `bundle`.
    pub(crate) async fn start_as(app: App, options: Options, bundle: &str) -> Self {
        let bound = app.bind(options).await.unwrap();
        Self {
            address: bound.address(),
            caller: Caller::new(bound.address(), NAME, bundle.as_bytes()).unwrap(),
            probes: bound.probes_address().unwrap(),
            shutdown: bound.shutdown(),
            ended: tokio::spawn(bound.serve()),
        }
    }

    /// Another caller that trusts `bundle` and has no connection yet.
    pub(crate) fn caller(&self, bundle: &str) -> Caller {
        Caller::new(self.address, NAME, bundle.as_bytes()).unwrap()
    }

    pub(crate) async fn outcome(&self, review: &Review, hook: &Hook) -> Outcome {
        vestibule_caller::judge(review, hook, &self.caller.call(review, hook).await.unwrap())
    }

    pub(crate) async fn admit(&self, review: &Review, hook: &Hook, policy: FailurePolicy) -> Admission {
        self.caller.admit(review, hook, policy).await.unwrap()
    }

    /// Status line and body.
    pub(crate) async fn probe(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.probes).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: probes\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// Drains the server; all connections must end by themselves.
    pub(crate) async fn stop(self) {
        self.shutdown.stop();
        drop(self.caller);
        assert_eq!(self.ended.await.unwrap().unwrap(), 0);
    }

    /// Waits until the server ends by itself with an error.
    pub(crate) async fn fails(self) -> ServeError {
        drop(self.caller);
        self.ended.await.unwrap().err().unwrap()
    }
}

/// On loopback, with probes.
pub(crate) fn options(identity: Arc<dyn Identity>) -> Options {
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut options = Options::new(loopback, identity);
    options.settings.probes = Some(loopback);
    // No load balancer has to remove an endpoint first.
    options.settings.drain_delay = Duration::ZERO;
    options
}

pub(crate) fn review() -> Review {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "x-unknown": {"a": [1.0]}},
        "spec": {"containers": [{"name": "a", "image": "nginx", "x-unknown": true}]},
    });
    Review::create(pod).namespace("shop").build().unwrap()
}

pub(crate) fn changed(outcome: Outcome) -> Value {
    let Outcome::Allowed(allowed) = outcome else { panic!("not allowed") };
    allowed.object.unwrap()
}

/// Waits until `holds` is true.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let waits = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waits).await.unwrap();
}
