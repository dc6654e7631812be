//! An injector on loopback that tests call as the API server does.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vestibule::identity::{Identity, Local};
use vestibule::server::Shutdown;
use vestibule::{App, Options};
use vestibule_caller::{Allowed, Caller, Hook, Outcome, Review, judge};
use vestibule_injector::{Configuration, LoadError, Namespaces, app, compile};
use vestibule_rules::RuleSet;

pub(crate) struct TestInjector {
    caller: Caller,
    probes: SocketAddr,
    shutdown: Shutdown,
}

/// The rules of `text`, which is called `rules.yaml`.
pub(crate) fn rules(text: &str) -> RuleSet {
    compile([("rules.yaml", text)]).unwrap_or_else(|findings| panic!("{findings:?}"))
}

/// An injector with these rules, on a cluster of which it knows `namespaces`.
pub(crate) async fn injector(rules: impl Into<Configuration>, namespaces: Namespaces) -> TestInjector {
    TestInjector::start(app(rules, namespaces).unwrap_or_else(|error| panic!("{error}"))).await
}

/// The rules in this folder.
pub(crate) fn from_folder(folder: &Path) -> Result<Configuration, LoadError> {
    Configuration::from_paths(&[folder.to_owned()], None)
}

impl TestInjector {
    pub(crate) async fn start(app: App) -> Self {
        let identity = Local::in_memory(&["localhost"], SystemTime::now()).unwrap();
        let ca = identity.ca_bundle();
        let mut options = Options::new(([127, 0, 0, 1], 0).into(), Arc::new(identity));
        options.settings.probes = Some(([127, 0, 0, 1], 0).into());
        let bound = app.bind(options).await.unwrap();
        let caller = Caller::new(bound.address(), "localhost", ca.unwrap().as_bytes()).unwrap();
        let (probes, shutdown) = (bound.probes_address().unwrap(), bound.shutdown());
        tokio::spawn(bound.serve());
        Self { caller, probes, shutdown }
    }

    pub(crate) async fn admit(&self, hook: &str, review: &Review) -> Outcome {
        let hook = Hook::mutating(hook, &format!("/mutate/{hook}"));
        let answer = self.caller.call(review, &hook).await.unwrap();
        judge(review, &hook, &answer)
    }

    /// The answer of a hook that allows the object.
    pub(crate) async fn allowed(&self, hook: &str, review: &Review) -> Allowed {
        match self.admit(hook, review).await {
            Outcome::Allowed(allowed) => allowed,
            _ => panic!("{hook} allows it"),
        }
    }

    /// Whether the injector answers within one second.
    pub(crate) async fn answers(&self, hook: &str, review: &Review) -> bool {
        let hook = Hook::mutating(hook, &format!("/mutate/{hook}")).timeout(Duration::from_secs(1));
        self.caller.call(review, &hook).await.is_ok()
    }

    /// The answer of `/readyz`.
    pub(crate) async fn readiness(&self) -> String {
        self.page("/readyz").await
    }

    /// The answer of a page of the probes, with its head.
    pub(crate) async fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.probes).await.unwrap();
        let question = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(question.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

impl Drop for TestInjector {
    fn drop(&mut self) {
        self.shutdown.abort();
    }
}

pub(crate) fn pod(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web"}},
           "spec": {"containers": [{"name": "app", "image": "nginx"}]}})
}
