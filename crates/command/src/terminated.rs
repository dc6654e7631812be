//! SIGTERM while a server starts.

/// Resolves at the first SIGTERM after this call. The first process of a container gets no signal that it has no handler for, so a
/// SIGTERM before the server listens for it would be lost.
#[cfg(unix)]
pub(crate) fn terminated() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = signal(SignalKind::terminate());
    async {
        match terminate {
            Ok(mut terminate) => drop(terminate.recv().await),
            // `serve_until_signalled` reports that signals cannot be received.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Never resolves: a process that starts ends at once.
#[cfg(not(unix))]
pub(crate) fn terminated() -> impl Future<Output = ()> {
    std::future::pending()
}
