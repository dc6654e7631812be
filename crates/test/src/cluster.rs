//! A real API server, and an app installed on it as its own manifests say.

mod breakage;
mod folder;
mod installed;
mod refused;
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

/// Carried by the namespaces of a test, where it shares its API server.
const TEST: &str = "vestibule.dev/test";

/// A real etcd and kube-apiserver, in the hands of one test.
///
/// There are no controllers: a namespace that is deleted stays `Terminating`, no pod ever runs, and a Deployment makes
/// none. The kit runs an app's replicas itself, in the test's process.
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
    /// Configurations that came by [`Cluster::apply`]; they go before the API server does.
    applied: Mutex<Vec<testenv::Installed>>,
    session: Session,
    /// Where webhooks of the test live: no hook of theirs is called there.
    home: String,
    shared: bool,
}

impl Cluster {
    /// An API server that all tests of the process share, about three seconds once; `None` where there can be none: the
    /// test is skipped, and says so on stderr. With `VESTIBULE_REQUIRE_APISERVER` set, a skip is a failure.
    ///
    /// The hooks of an installed app are called in the test's own namespaces only ([`Cluster::namespace`]), and for
    /// objects outside namespaces.
    ///
    /// # Panics
    /// When an API server is there but does not start, and where a skip is a failure.
    pub async fn shared_or_skip() -> Option<Self> {
        Self::of(testenv::shared_or_skip().await?, true).await
    }

    /// An API server of the test's own, to break or to register what must see everything.
    ///
    /// # Panics
    /// As [`Cluster::shared_or_skip`].
    pub async fn start_or_skip() -> Option<Self> {
        Self::of(testenv::start_or_skip(&Options::default().audit()).await?, false).await
    }

    async fn of(session: Session, shared: bool) -> Option<Self> {
        let home = done(session.namespace(&[]).await).name().to_owned();
        Some(Self { applied: Mutex::default(), session, home, shared })
    }

    /// The API server and what else can be done with it.
    pub fn environment(&self) -> &testenv::Environment {
        &self.session
    }

    /// A client of an administrator.
    pub fn client(&self) -> Client {
        done(self.session.admin())
    }

    /// A client of an ordinary user, who may do what RBAC objects grant.
    pub fn user(&self, name: &str) -> Client {
        done(self.session.user(name))
    }

    /// A new namespace with these labels, where the hooks of the test's apps are called.
    pub async fn namespace(&self, labels: &[(&str, &str)]) -> String {
        let labels = [&[(TEST, self.home.as_str())], labels].concat();
        done(self.session.namespace(&labels).await).name().to_owned()
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
        let installed = done(self.session.install(objects.clone()).await);
        self.applied.lock().unwrap_or_else(PoisonError::into_inner).push(installed);
        for name in objects.iter().filter(|object| object["kind"] == "Namespace").filter_map(name) {
            // Admission of pods asks for it, and no controller makes it.
            drop(done(self.session.service_account(name, "default").await));
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

/// What does not work fails the test.
fn done<T, E: std::fmt::Display>(outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("{error}"))
}
