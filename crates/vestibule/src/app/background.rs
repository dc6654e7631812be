//! Background work of a replica beside its hooks, such as an operator.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kube::Client;
use tokio::task::JoinSet;

use crate::app::App;
use crate::app::check::AppError;

/// Background work of one replica that has not been started. It returns whether it may end.
pub(crate) type Work = BoxFuture<'static, bool>;

/// Makes background work for one replica.
pub(crate) type MakeWork = Arc<dyn Fn(Client) -> Work + Send + Sync>;

/// Why background work that must not end is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkOver {
    Ended,
    Panicked,
}

impl App {
    /// Runs background work in the same process, such as an operator. It starts when `/readyz` first says `ok`: then every API
    /// server trusts the certificate, and every watch has read its first list. On a first start replicas that register their hooks
    /// themselves do so ten seconds later: until then the operator may meet objects that no hook has seen. The work is dropped when
    /// serving ends.
    ///
    /// Every replica runs it. Work that only one replica may do needs a leader election.
    ///
    /// The work must run for as long as the process serves. When it ends or panics before a shutdown has begun, the replica
    /// drains, as on SIGTERM, and serving ends with [`ServeError::WorkEnded`](crate::ServeError::WorkEnded) or [`ServeError::WorkPanicked`](crate::ServeError::WorkPanicked): otherwise a replica
    /// with a dead operator would look healthy, and the kubelet would not restart it. [`App::background_once`] is for work that
    /// may end.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{App, Context, FailurePolicy, Reject, Operation::Create, on};
    /// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
    /// async fn operate(client: kube::Client) {
    ///     // A `kube::runtime::Controller`.
    /// }
    ///
    /// let app = App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label).background(operate);
    /// # let _ = app;
    /// ```
    pub fn background<F>(self, work: impl Fn(Client) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.work(work, false)
    }

    /// Like [`App::background`], for work that may end while the process serves: a migration, a first report. A panic still ends
    /// the process.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{App, Context, FailurePolicy, Reject, Operation::Create, on};
    /// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
    /// async fn migrate(client: kube::Client) {
    ///     // Stored objects are written once more, in their new version.
    /// }
    ///
    /// let app = App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label).background_once(migrate);
    /// # let _ = app;
    /// ```
    pub fn background_once<F>(self, work: impl Fn(Client) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.work(work, true)
    }

    fn work<F>(mut self, work: impl Fn(Client) -> F + Send + Sync + 'static, may_end: bool) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.works.push(Arc::new(move |client| {
            let work = work(client);
            Box::pin(async move {
                work.await;
                may_end
            })
        }));
        self
    }

    /// All background work of one replica.
    ///
    /// # Errors
    /// There is background work, and no client for it.
    pub(crate) fn works(&self, client: Option<&Client>) -> Result<Vec<Work>, AppError> {
        let missing = || {
            let problem = "its background work needs a cluster, and there is none: set `Options::client`";
            AppError::new(self.name(), vec![problem.to_owned()])
        };
        let begin = |make: &MakeWork| {
            let (make, client) = (Arc::clone(make), client.ok_or_else(missing)?.clone());
            Ok(async move { make(client).await }.boxed())
        };
        self.works.iter().map(begin).collect()
    }
}

/// Runs until it is dropped, or until work is over that must not end.
pub(crate) async fn run(works: Vec<Work>) -> WorkOver {
    let mut tasks: JoinSet<bool> = works.into_iter().collect();
    while let Some(over) = tasks.join_next().await {
        match over {
            Ok(true) => tracing::info!("background work is done; the webhook goes on"),
            Ok(false) => return WorkOver::Ended,
            // The panic hook has logged it.
            Err(_) => return WorkOver::Panicked,
        }
    }
    std::future::pending().await
}
