//! A real API server, and apps installed on it by their own manifests.

mod breakage;
mod folder;
mod installed;
mod missing_rights;
mod replica;
mod reviewed;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::{self as testenv, Options, Session};

use vestibule::App;
use vestibule_manifests::Installation;

pub use self::breakage::Breakage;
pub use self::installed::Installed;
pub use self::reviewed::Reviewed;

/// The label of the namespaces of one test, on an API server that several tests share.
const TEST: &str = "vestibule.dev/test";

/// A real etcd and kube-apiserver for one test.
///
/// There are no controllers: a deleted namespace stays `Terminating`, and a Deployment creates no pods. The kit runs an
/// app's replicas itself, in the test's process.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use serde_json::json;
/// use vestibule::App;
/// # fn app() -> App { App::new("demo") }
///
/// #[tokio::test]
/// async fn pods_get_a_sidecar() {
///     let Some(cluster) = vestibule_test::Cluster::shared_or_skip().await else { return };
///     let installed = cluster.install(app()).await;
///     let namespace = cluster.namespace(&[("injection", "enabled")]).await;
///
///     let pods: kube::Api<Pod> = kube::Api::namespaced(cluster.client(), &namespace);
///     let pod = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": { "containers": [] } })).unwrap();
///     let created = pods.create(&Default::default(), &pod).await.unwrap();
///     assert_eq!(created.spec.unwrap().containers.len(), 1);
///     assert_eq!(installed.reviews("inject").len(), 1);
/// }
/// ```
pub struct Cluster {
    /// Objects of [`Cluster::apply`]. They are deleted before the API server stops.
    applied: Mutex<Vec<testenv::Installed>>,
    session: Session,
    /// The namespace of the test's own webhooks. Their hooks are not called there.
    home: String,
    shared: bool,
}

impl Cluster {
    /// An API server that all tests of the process share; it starts in about three seconds. `None` if this machine has
    /// none: the test is skipped, and a line on stderr says so. With `VESTIBULE_REQUIRE_APISERVER` set, a skip is a
    /// failure.
    ///
    /// The hooks of an installed app are called in the test's own namespaces only ([`Cluster::namespace`]), and for
    /// objects outside namespaces.
    ///
    /// # Panics
    /// An API server is installed and does not start, or a skip is a failure.
    pub async fn shared_or_skip() -> Option<Self> {
        Some(Self::of(testenv::shared_or_skip().await?, true).await)
    }

    /// An API server for this test alone: to break it, or to register a webhook for all namespaces.
    ///
    /// # Panics
    /// As [`Cluster::shared_or_skip`].
    pub async fn start_or_skip() -> Option<Self> {
        Some(Self::of(testenv::start_or_skip(&Options::default().audit()).await?, false).await)
    }

    async fn of(session: Session, shared: bool) -> Self {
        let home = or_fail(session.namespace(&[]).await).name().to_owned();
        Self { applied: Mutex::default(), session, home, shared }
    }

    /// The environment of the API server: its log, its clients, its processes.
    pub fn environment(&self) -> &testenv::Environment {
        &self.session
    }

    /// A client of an administrator.
    pub fn client(&self) -> Client {
        or_fail(self.session.admin())
    }

    /// A client of an ordinary user, with the rights that RBAC objects grant.
    pub fn user(&self, name: &str) -> Client {
        or_fail(self.session.api_server().user(name))
    }

    /// A new namespace with these labels, where the hooks of the test's apps are called.
    pub async fn namespace(&self, labels: &[(&str, &str)]) -> String {
        let labels = [&[(TEST, self.home.as_str())], labels].concat();
        or_fail(self.session.namespace(&labels).await).name().to_owned()
    }

    /// Applies every object in the `.yaml`, `.yml` and `.json` files of `folder`, those without a namespace in
    /// `namespace`: namespaces and CustomResourceDefinitions first, webhook configurations last. Returns when definitions
    /// are established and served, and configurations are called.
    ///
    /// # Panics
    /// A file cannot be read, or the API server refuses an object.
    pub async fn apply(&self, folder: impl AsRef<Path>, namespace: &str) {
        let mut objects = folder::read(folder.as_ref());
        for object in &mut objects {
            if object["metadata"]["namespace"].is_null() {
                object["metadata"]["namespace"] = json!(namespace);
            }
        }
        let installed = or_fail(self.session.install(objects.clone()).await);
        self.applied.lock().unwrap_or_else(PoisonError::into_inner).push(installed);
        for name in objects.iter().filter(|object| object["kind"] == "Namespace").filter_map(name) {
            // The admission of pods needs it, and no controller creates it.
            drop(or_fail(self.session.service_account(name, "default").await));
        }
    }

    /// Installs `app` by its own manifests and returns when the API server calls its hooks: see [`Installed`].
    ///
    /// # Panics
    /// The app is not in order, the API server refuses a manifest, a right is missing, or the app does not become ready.
    pub async fn install(&self, app: App) -> Installed<'_> {
        self.install_with(app, |_| {}).await
    }

    /// The same, after a change to the [`Installation`]: one replica, another identity.
    ///
    /// # Panics
    /// As [`Cluster::install`].
    pub async fn install_with(&self, app: App, change: impl FnOnce(&mut Installation)) -> Installed<'_> {
        Installed::new(self, app, change).await
    }
}

fn name(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
}

/// An error fails the test.
fn or_fail<T, E: std::fmt::Display>(outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("{error}"))
}
