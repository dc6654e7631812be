//! From an app to a server: [`bind`] takes the addresses, [`Bound::serve`] answers calls until a shutdown.

mod bind;
mod certificate_source;
pub(crate) mod client_identity;
pub(crate) mod options;
mod reachability;
mod signals;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinSet;
use vestibule_identity::Identity;
use vestibule_server::{BindError, CertificateError, Shutdown};

use crate::app::background::{self, Work, WorkOver};
use crate::app::check::AppError;
use client_identity::settings::ClientError;
pub use options::{SHORTEST_IDLE, registers};
use reachability::ReachCheck;

/// An app with bound addresses: connections that are made now are accepted by [`Bound::serve`].
#[must_use = "call `serve`"]
pub struct Bound {
    server: vestibule_server::Bound,
    identity: Arc<dyn Identity>,
    /// The check that runs before anything is registered.
    reach: Option<ReachCheck>,
    hooks: Vec<String>,
    works: Vec<Work>,
    /// The tasks that reload the files and keys of client authentication; they end with the server.
    reloads: JoinSet<()>,
    before_exit: Option<fn()>,
}

/// Why an app cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The app is not in order.
    #[error(transparent)]
    App(#[from] AppError),
    /// The identity's certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The identity has no certificate and does not wait for one.
    #[error("the identity has no certificate and never will: with `off` there is nothing to serve")]
    NoCertificate,
    /// [`idle_timeout`](vestibule_server::Settings::idle_timeout) is below 91 s.
    #[error(
        "the API server keeps idle connections for 90 s, and a server that closes them earlier fails the call that is just being \
         sent: set `idle_timeout` to 91 s or more"
    )]
    Idle,
    /// The settings of client authentication cannot be used.
    #[error(transparent)]
    Clients(#[from] ClientError),
    /// An address cannot be taken.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system has no thread for the conditions of [`App::ready_when`](crate::App::ready_when).
    #[error("readiness conditions cannot be checked: {0}")]
    Conditions(std::io::Error),
    /// The system does not deliver signals.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
    /// Background work ended before a shutdown had begun.
    #[error(
        "background work has ended, and this process with it: `App::background` is for work that never ends, \
         `App::background_once` for work that may"
    )]
    WorkEnded,
    /// Background work panicked.
    #[error("background work panicked, and this process ends with it: the log says where")]
    WorkPanicked,
}

impl Bound {
    /// The address of the HTTPS port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The address of `/livez`, `/readyz`, `/startupz` and `/metrics`, if they have a port.
    pub fn probes_address(&self) -> Option<SocketAddr> {
        self.server.probes_address()
    }

    /// The handle that drains or stops the server.
    pub fn shutdown(&self) -> Shutdown {
        self.server.shutdown()
    }

    /// Resolves when `/readyz` would first say `ok`. [`App::background`](crate::App::background) does the same for an app.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        self.server.ready()
    }

    /// Serves until the [`Shutdown`] handle ends it. Returns the number of connections that were cut off. If the future is dropped
    /// before that, as in a `select!`, both ports and all connections are closed at once.
    ///
    /// # Errors
    /// Work of [`App::background`](crate::App::background) ended, or panicked, before a shutdown had begun. Calls are answered until the replica has
    /// drained.
    pub async fn serve(self) -> Result<usize, ServeError> {
        let probes = self.probes_address().map(|address| address.to_string());
        let (address, hooks) = (self.address(), self.hooks.join(","));
        let names = self.identity.present().map(|leaf| leaf.names.join(","));
        let waits_for = self.identity.status().waiting_for;
        tracing::info!(%address, probes, names, hooks, waits_for, "serving");
        let (ready, shutdown) = (self.ready(), self.shutdown());
        let (identity, works, _reloads) = (self.identity, self.works, self.reloads);
        let reach = self.reach.as_ref();
        let beside = async move {
            ready.await;
            let register = async {
                if let Some(reach) = reach {
                    reach.wait_until_reached(&*identity).await;
                }
                identity.serving();
                std::future::pending().await
            };
            tokio::select! {
                never = register => never,
                over = background::run(works) => over,
            }
        };
        let mut serving = pin!(self.server.serve());
        let over = tokio::select! {
            cut = &mut serving => Ok(cut),
            over = beside => Err(over),
        };
        let served = match over {
            Ok(cut) => Ok(cut),
            // An operator listens for signals too, and ends by itself.
            Err(WorkOver::Ended) if shutdown.has_begun() => Ok(serving.await),
            Err(over) => {
                let error = match over {
                    WorkOver::Ended => ServeError::WorkEnded,
                    WorkOver::Panicked => ServeError::WorkPanicked,
                };
                tracing::error!(%error, "draining");
                shutdown.drain();
                serving.await;
                Err(error)
            }
        };
        if let Some(reach) = reach {
            reach.withdraw().await;
        }
        served
    }

    /// Serves until SIGTERM has drained it or SIGINT has stopped it; a second signal ends the process at once, even while
    /// handlers that never await hold every thread of the runtime.
    ///
    /// # Errors
    /// The system does not deliver signals. Work of [`App::background`](crate::App::background) ended, or panicked, before a signal came.
    pub async fn serve_until_signalled(self) -> Result<(), ServeError> {
        let signalled = signals::listen(self.shutdown(), self.before_exit).map_err(ServeError::Signals)?;
        match self.serve().await {
            Ok(0) => tracing::info!("stopped"),
            Ok(cut) => tracing::warn!(connections = cut, "stopped; connections were cut off"),
            // An operator may get the same signal a moment earlier.
            Err(ServeError::WorkEnded) if signalled.load(Ordering::Relaxed) => tracing::info!("stopped"),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
