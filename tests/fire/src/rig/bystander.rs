//! An API server that has its own calls to make, whatever others do.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use vestibule_caller::load::{Load, Report};
use vestibule_caller::{Caller, Hook, Review};

/// Calls until it is stopped, on a thread of its own: it waits for the server, and not for its turn among thousands of
/// strangers in this process.
pub struct Bystander {
    stop: oneshot::Sender<()>,
    report: oneshot::Receiver<anyhow::Result<Report>>,
}

impl Bystander {
    /// Starts `rate` calls a second, and notes the calls that take longer than `longest`.
    #[must_use]
    pub fn start(caller: Arc<Caller>, rate: f64, longest: Duration, hook: Hook, review: Review) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (tell, report) = oneshot::channel();
        thread::spawn(move || {
            let called = Builder::new_current_thread().enable_all().build().map(|runtime| {
                runtime.block_on(async move {
                    let calls = Load::open(rate).noting(longest).start(&[caller], &hook, &[review]);
                    // Whoever drops it wants an end as well.
                    let _ = stopped.await;
                    calls.stop().await
                })
            });
            let _ = tell.send(called.map_err(Into::into));
        });
        Self { stop, report }
    }

    /// What became of its calls.
    ///
    /// # Errors
    /// There was no runtime for it.
    pub async fn stop(self) -> anyhow::Result<Report> {
        let _ = self.stop.send(());
        self.report.await.map_err(|_| anyhow!("the bystander has panicked"))?
    }
}
