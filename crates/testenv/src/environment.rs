//! The control plane and what a test does with it.

mod audit;
mod clients;
mod start;

pub use self::clients::Namespace;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::api_server::ApiServer;
use crate::marker::Markers;
use crate::network::Network;
use crate::proxy::Proxy;
use crate::watchdog::Watchdog;

/// A running etcd and kube-apiserver of one's own; both end with it, or with the process.
///
/// It holds addresses, tokens and paths, and nothing of a runtime: each
/// `#[tokio::test]` makes its own clients.
///
/// Unless [asked for](Options::controller_manager) there are no controllers: a Deployment makes no
/// pods. A namespace that is deleted always stays `Terminating`, owned objects are not collected,
/// and no pod ever runs.
pub struct Environment {
    // Declared first: the processes end before anything else goes.
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
    /// One more flag of kube-apiserver, `--name=value`.
    #[must_use]
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server_flags.push(flag.into());
        self
    }

    /// Makes Services of type ExternalName even where ClusterIPs can be listened on; elsewhere they always are.
    #[must_use]
    pub fn external_names(mut self) -> Self {
        self.external_names = true;
        self
    }

    /// Starts two API servers on one etcd, the second of which can lag:
    /// [`Environment::second`], [`Environment::second_watches`].
    #[must_use]
    pub fn second_api_server(mut self) -> Self {
        self.second_api_server = true;
        self
    }

    /// Has API servers show a client certificate and a bearer token to every webhook: [`Environment::client_authority`],
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

    /// Starts kube-controller-manager too, with the controllers that make pods: of Deployments, ReplicaSets and Jobs.
    /// It begins in its own time, a second or two after the environment is there: a test waits for what it makes.
    #[must_use]
    pub fn controller_manager(mut self) -> Self {
        self.controller_manager = true;
        self
    }
}

impl Environment {
    /// Where the API server listens: `https://127.x.y.1:PORT`.
    pub fn url(&self) -> &str {
        self.first.url()
    }

    /// The first API server, which all else here speaks to.
    pub fn api_server(&self) -> &ApiServer {
        &self.first
    }

    /// The second API server, with [`Options::second_api_server`].
    pub fn second(&self) -> Option<&ApiServer> {
        self.second.as_ref().map(|second| &second.server)
    }

    /// How the second API server learns of webhook configurations, CustomResourceDefinitions and APIServices.
    ///
    /// A [delay](Proxy::delay) lets it act upon what was written that long ago, as API
    /// servers in trouble do; what it reads from etcd it still reads at once. The watches
    /// that are [cut](Proxy::cut) are taken up where they ended after [`Proxy::resume`].
    /// Nothing else meets this proxy.
    ///
    /// While it lags, a list of such objects by the second API server takes three seconds:
    /// that long it waits to catch up before it asks etcd. Reading one takes no longer than usual.
    ///
    /// Into one delay go 64 KiB of changes for each resource, where each counts with what was
    /// there before it: etcd sends no more to who does not take it, and the rest is later than the delay.
    pub fn second_watches(&self) -> Option<&Proxy> {
        self.second.as_ref().map(|second| &second.watches)
    }

    /// Its folder: programs may write here, and it goes when the environment goes.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the API server has written so far.
    pub fn api_server_log(&self) -> String {
        self.watchdog.program(start::API_SERVER).log()
    }

    /// What the second API server has written so far; nothing where there is none.
    pub fn second_api_server_log(&self) -> String {
        self.watchdog.program(start::SECOND_API_SERVER).log()
    }

    /// What the controller manager has written so far; nothing where there is none.
    pub fn controller_manager_log(&self) -> String {
        self.watchdog.program(start::CONTROLLER_MANAGER).log()
    }

    /// Every API server, the first first.
    pub(crate) fn api_servers(&self) -> impl Iterator<Item = &ApiServer> {
        std::iter::once(&self.first).chain(self.second())
    }

    /// A number that this environment gave to nobody before.
    pub(crate) fn number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}
