//! What a process does beside answering: an operator, mostly.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kube::Client;
use tokio::task::JoinSet;

use crate::{App, AppError};

/// Work that has yet to begin.
pub(crate) type Work = BoxFuture<'static, ()>;

/// Makes it, for one replica.
pub(crate) type MakeWork = Arc<dyn Fn(Client) -> Work + Send + Sync>;

impl App {
    /// Does something beside answering, in the same process: an operator, mostly. It begins when `/readyz` first says `ok`:
    /// the certificate is known to every API server, and every watch has seen its objects. So an operator never meets an
    /// object that went past its own webhook. It is dropped when serving ends.
    ///
    /// Every replica does it. What only one may do, it must agree upon with the others.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{App, Context, Operation::Create, Reject, on};
    /// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
    /// async fn operate(client: kube::Client) {
    ///     // A `kube::runtime::Controller`.
    /// }
    ///
    /// let app = App::new("demo").mutate("label", on::<Pod>([Create]).fail_open(), label).when_ready(operate);
    /// # let _ = app;
    /// ```
    pub fn when_ready<F>(mut self, work: impl Fn(Client) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.works.push(Arc::new(move |client| Box::pin(work(client))));
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
        let begin = |make: &MakeWork| {
            let (make, client) = (Arc::clone(make), client.ok_or_else(missing)?.clone());
            let work: Work = Box::pin(async move { make(client).await });
            Ok(work)
        };
        self.works.iter().map(begin).collect()
    }
}

/// Works until it is dropped.
pub(crate) async fn run<T>(works: Vec<Work>) -> T {
    let mut tasks: JoinSet<()> = works.into_iter().collect();
    while let Some(ended) = tasks.join_next().await {
        // A panic has been told of, by the hook for panics.
        match ended {
            Ok(()) => tracing::warn!("work beside the webhook has ended; the webhook goes on"),
            Err(_) => tracing::error!("work beside the webhook panicked; the webhook goes on without it"),
        }
    }
    std::future::pending().await
}
