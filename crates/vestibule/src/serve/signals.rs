//! SIGTERM drains, SIGINT stops, and a second signal ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use vestibule_server::Shutdown;

/// Signals are heard on a thread of their own: no handler can hold it up. The result tells whether one was.
pub(super) fn listen(shutdown: Shutdown) -> std::io::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    drop(entered);
    let signalled = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&signalled);
    let heed = async move {
        tokio::select! {
            _ = terminate.recv() => {
                heard.store(true, Ordering::Relaxed);
                // First done, then told: whoever reads it and asks `/readyz` is not told otherwise.
                shutdown.drain();
                tracing::info!("draining: SIGTERM");
            }
            _ = interrupt.recv() => {
                heard.store(true, Ordering::Relaxed);
                tracing::info!("stopping: SIGINT");
                shutdown.stop();
            }
        }
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::warn!("ending at once: a second signal");
        #[expect(clippy::disallowed_methods, reason = "leaving `main` would wait for the runtime's threads")]
        std::process::exit(0);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(heed))?;
    Ok(signalled)
}
