//! The control plane, its options, and its logs.

mod audit;
mod clients;
mod credentials;
mod start;

pub use self::clients::Namespace;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::api_server::ApiServer;
use crate::marker::Markers;
use crate::network::Network;
use crate::proxy::Proxy;
use crate::watchdog::Watchdog;

pub(crate) const API_SERVER: &str = "kube-apiserver";
pub(crate) const SECOND_API_SERVER: &str = "kube-apiserver-2";
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// A running etcd and kube-apiserver. Both end when this is dropped, or with the process.
///
/// It holds addresses, tokens and paths, and nothing that is bound to a tokio runtime: each
/// `#[tokio::test]` makes its own clients.
///
/// Without [`Options::controller_manager`] there are no controllers: a Deployment makes no
/// pods. A deleted namespace always stays `Terminating`, owned objects are not garbage collected,
/// and no pod ever runs.
pub struct Environment {
    // Declared first: the processes end before the other fields are dropped.
    pub(crate) watchdog: Watchdog,
    folder: PathBuf,
    first: ApiServer,
    second: Option<Second>,
    pub(crate) network: Network,
    pub(crate) markers: Markers,
    numbers: AtomicUsize,
}

struct Second {
    server: ApiServer,
    watches: Proxy,
}

/// How an [`Environment`] starts.
///
/// ```
/// use vestibule_testenv::Options;
///
/// let options = Options::default().api_server_flag("--enable-admission-plugins=AlwaysPullImages");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) external_names: bool,
    pub(crate) second_api_server: bool,
    pub(crate) audit: bool,
    pub(crate) controller_manager: bool,
    pub(crate) shows_credentials: bool,
}

impl Options {
    /// Adds a flag of kube-apiserver, `--name=value`.
    #[must_use]
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server_flags.push(flag.into());
        self
    }

    /// Makes Services of type ExternalName also on systems where a process can listen on a ClusterIP.
    #[must_use]
    pub fn external_names(mut self) -> Self {
        self.external_names = true;
        self
    }

    /// Starts two API servers on one etcd. The second one can lag:
    /// [`Environment::second`], [`Environment::second_watches`].
    #[must_use]
    pub fn second_api_server(mut self) -> Self {
        self.second_api_server = true;
        self
    }

    /// Makes API servers present a client certificate and a bearer token to every webhook: [`Environment::client_authority`],
    /// [`Environment::show_token`].
    #[must_use]
    pub fn shows_credentials(mut self) -> Self {
        self.shows_credentials = true;
        self
    }

    /// Keeps the audit log of the first API server: [`Environment::audit_log`].
    #[must_use]
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self
    }

    /// Starts kube-controller-manager too, with the controllers of Deployments, ReplicaSets and Jobs. It begins a second or
    /// two after the environment has started, so a test has to wait for the objects that it makes.
    #[must_use]
    pub fn controller_manager(mut self) -> Self {
        self.controller_manager = true;
        self
    }
}

impl Environment {
    /// The URL of the first API server: `https://127.x.y.1:PORT`.
    pub fn url(&self) -> &str {
        self.first.url()
    }

    /// The first API server, which the other methods of this type use.
    pub fn api_server(&self) -> &ApiServer {
        &self.first
    }

    /// The second API server, with [`Options::second_api_server`].
    pub fn second(&self) -> Option<&ApiServer> {
        self.second.as_ref().map(|second| &second.server)
    }

    /// The watches by which the second API server learns of webhook configurations, CustomResourceDefinitions and
    /// APIServices. No other traffic passes through this proxy.
    ///
    /// With a [delay](Proxy::delay) it acts upon the objects as they were that long ago, as an overloaded API server
    /// does; direct reads from etcd are not delayed. Watches that are [cut](Proxy::cut) continue where they ended
    /// after [`Proxy::resume`].
    ///
    /// While it lags, a list of such objects by the second API server takes three seconds, because it waits that
    /// long to catch up before it asks etcd. Reading one object takes no longer than usual.
    ///
    /// One delay holds 64 KiB of changes for each resource; each change counts with the previous object. etcd sends no
    /// more to a client that does not read, so further changes arrive later than the delay.
    pub fn second_watches(&self) -> Option<&Proxy> {
        self.second.as_ref().map(|second| &second.watches)
    }

    /// The folder of the environment. Programs may write here; it is removed with the environment.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The log of the controller manager so far; empty without one.
    pub fn controller_manager_log(&self) -> String {
        self.watchdog.program(CONTROLLER_MANAGER).log()
    }

    /// Every API server, in order.
    pub(crate) fn api_servers(&self) -> impl Iterator<Item = &ApiServer> {
        std::iter::once(&self.first).chain(self.second())
    }

    /// A number that this environment has not returned before.
    pub(crate) fn next_number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}
