//! The API server, as one test sees it, and an example's app that it calls.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Error, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vestibule::identity::{Identity, Local, Source};
use vestibule::{App, Options, Registration, Shutdown, Target};
use vestibule_testenv::{self as testenv, Installed, Service, Session};

/// The label of every namespace of a test, and of no other.
pub(crate) const TEST: &str = "test";

/// One test's part of the shared API server.
pub(crate) struct Cluster {
    pub(crate) environment: Session,
    /// Where the webhook's own Service is. The test's namespaces carry its name as the value of [`TEST`].
    pub(crate) home: String,
}

/// An app that the API server calls, until it is dropped.
pub(crate) struct Webhook {
    /// As the app gives it.
    pub(crate) registration: Registration,
    _installed: Installed,
    _service: Service,
    shutdown: Shutdown,
}

impl Cluster {
    /// `None` where there is no API server to be had: the test is skipped, and says so.
    pub(crate) async fn shared() -> Option<Self> {
        let environment = testenv::shared_or_skip().await?;
        let home = environment.namespace(&[]).await.unwrap().name().to_owned();
        Some(Self { environment, home })
    }

    /// An administrator.
    pub(crate) fn client(&self) -> Client {
        self.environment.admin().unwrap()
    }

    /// A new namespace, whose objects go past the test's webhook.
    pub(crate) async fn namespace(&self, labels: &[(&str, &str)]) -> String {
        let labels = [&[(TEST, self.home.as_str())], labels].concat();
        self.environment.namespace(&labels).await.unwrap().name().to_owned()
    }

    /// Objects of one kind in a namespace.
    pub(crate) fn api<T>(&self, namespace: &str) -> Api<T>
    where
        T: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned,
    {
        Api::namespaced(self.client(), namespace)
    }

    /// Applies objects that are no webhook configurations, and returns when they are there; definitions are established.
    pub(crate) async fn apply(&self, objects: impl IntoIterator<Item = Value>) {
        drop(self.environment.install(objects).await.unwrap());
    }

    /// Serves `app` behind a Service and returns when the API server calls its hooks, for objects in the test's
    /// namespaces, and for cluster-scoped ones that its rules name.
    pub(crate) async fn serve(&self, app: App) -> Webhook {
        self.serve_as(app, |_| {}).await
    }

    /// As [`Cluster::serve`], after a change to the hooks of each configuration.
    pub(crate) async fn serve_as(&self, app: App, change: impl Fn(&mut Vec<Value>)) -> Webhook {
        let service = self.environment.service(&self.home, "webhook").await.unwrap();
        let target = Target::service(&format!("{}/webhook:{}", self.home, service.port())).unwrap();
        let authority = self.environment.folder().join(&self.home);
        let identity: Arc<dyn Identity> =
            Arc::new(Local::open(&authority, &target.dns_names(), SystemTime::now()).unwrap());
        let registration = app.registration(&target, &identity.ca_bundle().unwrap()).unwrap();
        let mut objects = registration.objects();
        for object in objects.iter_mut().filter(|object| object["webhooks"].is_array()) {
            // An app may be registered by several tests at a time.
            let name = format!("{}-{}", self.home, object["metadata"]["name"].as_str().unwrap());
            object["metadata"]["name"] = name.into();
            let hooks = object["webhooks"].as_array_mut().unwrap();
            change(hooks);
            for hook in hooks {
                hook["namespaceSelector"]["matchLabels"][TEST] = json!(self.home);
            }
        }

        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut options = Options::new(anywhere, identity);
        options.settings.probes = Some(anywhere);
        options.client = Some(self.as_installed(&app, &target).await);
        let bound = app.bind(options).await.unwrap();
        let shutdown = bound.shutdown();
        service.add_replica(bound.address(), bound.probes_address()).unwrap();
        tokio::spawn(bound.serve());
        service.wait_for_replicas(1).await.unwrap();
        let installed = self.environment.install(objects).await.unwrap();
        Webhook { registration, _installed: installed, _service: service, shutdown }
    }
}

impl Cluster {
    /// The API server in the eyes of a ServiceAccount with the rights that the app's own manifests grant, and no others.
    async fn as_installed(&self, app: &App, target: &Target) -> Client {
        let mut installation = app.installation(target.clone());
        installation.name = format!("{}-{}", self.home, app.name());
        installation.identity = Source::Mounted(PathBuf::new());
        let mut objects = app.manifests(&installation).unwrap();
        objects.retain(|object| object["apiVersion"] == "rbac.authorization.k8s.io/v1");
        self.apply(objects).await;
        self.environment.service_account(&self.home, &installation.name).await.unwrap()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.shutdown.stop();
    }
}

/// An object as a user writes it.
#[track_caller]
pub(crate) fn object<T: DeserializeOwned>(text: Value) -> T {
    serde_json::from_value(text).unwrap()
}

/// What the API server says to a request that it refuses with `code`.
#[track_caller]
pub(crate) fn refusal<T>(outcome: Result<T, Error>, code: u16) -> String {
    match outcome {
        Err(Error::Api(status)) => {
            assert_eq!(status.code, code, "{}", status.message);
            status.message
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is not refused"),
    }
}
