//! SIGTERM drains, SIGINT stops, and a second signal ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vestibule_server::Shutdown;

/// Listens for signals on a thread of its own, which no handler can block. The result says whether one has come.
pub(super) fn listen(shutdown: Shutdown, before_exit: Option<fn()>) -> std::io::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (mut terminate, mut interrupt) = signals()?;
    drop(entered);
    let signalled = Arc::new(AtomicBool::new(false));
    let has_come = Arc::clone(&signalled);
    let listen = async move {
        tokio::select! {
            _ = terminate.recv() => {
                has_come.store(true, Ordering::Relaxed);
                // Drains before it logs: a reader of the log line finds `/readyz` draining.
                shutdown.drain();
                tracing::info!("draining: SIGTERM");
            }
            _ = interrupt.recv() => {
                has_come.store(true, Ordering::Relaxed);
                tracing::info!("stopping: SIGINT");
                shutdown.stop();
            }
        }
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::warn!("ending at once: a second signal");
        if let Some(before_exit) = before_exit {
            before_exit();
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "returning from `main` would wait for the runtime's threads"
        )]
        std::process::exit(0);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listen))?;
    Ok(signalled)
}

#[cfg(unix)]
fn signals() -> std::io::Result<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)> {
    use tokio::signal::unix::{SignalKind, signal};
    Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
}

/// Windows has no SIGTERM: the end of the session is in its place, and Ctrl-C in that of SIGINT.
#[cfg(windows)]
fn signals() -> std::io::Result<(tokio::signal::windows::CtrlShutdown, tokio::signal::windows::CtrlC)> {
    use tokio::signal::windows::{ctrl_c, ctrl_shutdown};
    Ok((ctrl_shutdown()?, ctrl_c()?))
}
