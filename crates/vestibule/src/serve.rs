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
#[cfg(feature = "cli")]
pub(crate) use bind::SHORTEST_IDLE;
use client_identity::ClientError;
#[cfg(feature = "cli")]
pub(crate) use options::registers;
use reachability::Reach;

/// An app whose addresses are taken: callers that connect now wait for [`Bound::serve`].
#[must_use = "it serves only when told to"]
pub struct Bound {
    server: vestibule_server::Bound,
    identity: Arc<dyn Identity>,
    /// Asked before anything is registered.
    reach: Option<Reach>,
    hooks: Vec<String>,
    works: Vec<Work>,
    /// What follows the files and keys by which clients are known, for as long as anybody is served.
    follows: JoinSet<()>,
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
    /// The identity has no certificate and does not wait for one; the API server calls nobody without.
    #[error("the identity has no certificate and never will: with `off` there is nothing to serve")]
    NoCertificate,
    /// [`Settings::idle_timeout`] is below 91 s.
    #[error(
        "the API server keeps connections for 90 s between two calls, and whoever closes them first fails the call that is \
         just being sent: let them rest for 91 s or more"
    )]
    Idle,
    /// Clients cannot be told apart as they should be.
    #[error(transparent)]
    Clients(#[from] ClientError),
    /// An address cannot be taken.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system has no thread for the conditions of [`App::ready_when`].
    #[error("conditions cannot be asked: {0}")]
    Conditions(std::io::Error),
    /// The system refuses to tell of signals.
    #[error("signals cannot be listened to: {0}")]
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
    /// Where HTTPS is served.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where `/livez`, `/readyz`, `/startupz` and `/metrics` are served, if they are.
    pub fn probes_address(&self) -> Option<SocketAddr> {
        self.server.probes_address()
    }

    /// The handle that ends it, from anywhere.
    pub fn shutdown(&self) -> Shutdown {
        self.server.shutdown()
    }

    /// Resolves when `/readyz` would first say `ok`, for whoever wires things by hand; an app has [`App::background`].
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        self.server.ready()
    }

    /// Serves until the [`Shutdown`] handle ends it. Returns how many connections were cut off in the end. Dropped before that,
    /// as a `select!` does, it ends at once: both ports are closed, and so is every connection.
    ///
    /// # Errors
    /// Work of [`App::background`] ended, or panicked, before a shutdown had begun. Calls are answered until the replica has
    /// drained.
    pub async fn serve(self) -> Result<usize, ServeError> {
        let probes = self.probes_address().map(|address| address.to_string());
        let (address, hooks) = (self.address(), self.hooks.join(","));
        let names = self.identity.present().map(|leaf| leaf.names.join(","));
        let waits_for = self.identity.status().waiting_for;
        tracing::info!(%address, probes, names, hooks, waits_for, "serving");
        let (ready, shutdown) = (self.ready(), self.shutdown());
        let (identity, works, _follows) = (self.identity, self.works, self.follows);
        let reach = self.reach.as_ref();
        let beside = async move {
            ready.await;
            let register = async {
                if let Some(reach) = reach {
                    reach.reached(&*identity).await;
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
            // An operator listens to signals too.
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
    /// The system refuses to tell of signals. Work of [`App::background`] ended, or panicked, before a signal came.
    pub async fn serve_until_signalled(self) -> Result<(), ServeError> {
        let signalled = signals::listen(self.shutdown()).map_err(ServeError::Signals)?;
        match self.serve().await {
            Ok(0) => tracing::info!("stopped"),
            Ok(cut) => tracing::warn!(connections = cut, "stopped; connections were cut off"),
            // An operator may hear the same signal a moment earlier.
            Err(ServeError::WorkEnded) if signalled.load(Ordering::Relaxed) => tracing::info!("stopped"),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
