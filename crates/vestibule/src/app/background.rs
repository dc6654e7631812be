//! What a process does beside answering: an operator, mostly.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kube::Client;
use tokio::task::JoinSet;

use crate::app::App;
use crate::app::check::AppError;
#[cfg(doc)]
use crate::serve::ServeError;

/// Work that has yet to begin.
pub(crate) struct Work {
    future: BoxFuture<'static, ()>,
    may_end: bool,
}

/// Makes it, for one replica.
#[derive(Clone)]
pub(crate) struct MakeWork {
    make: Arc<dyn Fn(Client) -> BoxFuture<'static, ()> + Send + Sync>,
    may_end: bool,
}

/// Why work is over that should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkOver {
    Ended,
    Panicked,
}

impl App {
    /// Does something beside answering, in the same process: an operator, mostly. It begins when `/readyz` first says `ok`:
    /// the certificate is known to every API server, and every watch has seen its objects. So an operator never meets an
    /// object that went past its own webhook. It is dropped when serving ends.
    ///
    /// Every replica does it. What only one may do, it must agree upon with the others.
    ///
    /// It goes on for as long as the process serves. When it ends or panics before a shutdown has begun, the replica drains, as
    /// on SIGTERM, and serving ends with [`ServeError::WorkEnded`] or [`ServeError::WorkPanicked`]: a replica whose operator is
    /// dead would look healthy, and nothing would restart it. Work that is done one day is for [`App::background_once`].
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{FailurePolicy, App, Context, Operation::Create, Reject, on};
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

    /// The same for work that may end while the process serves: a migration, a first report. A panic in it ends the process
    /// as one in [`App::background`] does.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{FailurePolicy, App, Context, Operation::Create, Reject, on};
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
        self.works.push(MakeWork { make: Arc::new(move |client| Box::pin(work(client))), may_end });
        self
    }

    /// All work of one replica.
    ///
    /// # Errors
    /// There is some, and no cluster to do it on.
    pub(crate) fn works(&self, client: Option<&Client>) -> Result<Vec<Work>, AppError> {
        let missing = || {
            let problem = "it works on a cluster when it is ready, and there is none: set `Options::client`";
            AppError { name: self.name().to_owned(), problems: vec![problem.to_owned()] }
        };
        let begin = |MakeWork { make, may_end }: &MakeWork| {
            let (make, client) = (Arc::clone(make), client.ok_or_else(missing)?.clone());
            Ok(Work { future: Box::pin(async move { make(client).await }), may_end: *may_end })
        };
        self.works.iter().map(begin).collect()
    }
}

/// Works until it is dropped, or until work is over that should go on.
pub(crate) async fn run(works: Vec<Work>) -> WorkOver {
    let mut tasks = JoinSet::new();
    for Work { future, may_end } in works {
        tasks.spawn(async move {
            future.await;
            may_end
        });
    }
    while let Some(over) = tasks.join_next().await {
        match over {
            Ok(true) => tracing::info!("background work is done; the webhook goes on"),
            Ok(false) => return WorkOver::Ended,
            // A panic has been told of, by the hook for panics.
            Err(_) => return WorkOver::Panicked,
        }
    }
    std::future::pending().await
}
