//! An API server that makes calls while another load runs.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use vestibule_caller::{Caller, Hook, Review};
use webhook_load::{Load, Report};

/// Makes calls until it is stopped, on its own thread, so that thousands of client tasks in this process do not delay it.
pub struct BackgroundLoad {
    stop: oneshot::Sender<()>,
    report: oneshot::Receiver<anyhow::Result<Report>>,
}

impl BackgroundLoad {
    /// Starts `rate` calls a second, and notes the calls that take longer than `longest`.
    #[must_use]
    pub fn start(caller: Arc<Caller>, rate: f64, longest: Duration, hook: Hook, review: Review) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (sender, report) = oneshot::channel();
        thread::spawn(move || {
            let called = Builder::new_current_thread().enable_all().build().map(|runtime| {
                runtime.block_on(async move {
                    let calls = Load::open(rate).noting(longest).start(&[caller], &hook, &[review]);
                    // A dropped sender ends the load as well.
                    let _ = stopped.await;
                    calls.stop().await
                })
            });
            let _ = sender.send(called.map_err(Into::into));
        });
        Self { stop, report }
    }

    /// Stops the load and returns its report.
    ///
    /// # Errors
    /// The thread could not start a runtime, or panicked.
    pub async fn stop(self) -> anyhow::Result<Report> {
        let _ = self.stop.send(());
        self.report.await.map_err(|_| anyhow!("the thread of the background load panicked"))?
    }
}
