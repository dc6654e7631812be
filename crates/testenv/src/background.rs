//! The runtime of balancers, proxies and recorders, which outlives the runtimes of tests.

use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::task::{AbortHandle, JoinSet};

use crate::error::Error;

/// A runtime with one thread that runs until the process ends. Each test has a runtime of its own, and
/// servers that several tests share must not end with it.
pub(crate) fn background() -> Result<Handle, Error> {
    static HANDLE: Mutex<Option<Handle>> = Mutex::new(None);
    let mut handle = HANDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = handle.as_ref() {
        return Ok(running.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Background)?;
    let started = runtime.handle().clone();
    std::thread::Builder::new()
        .name("testenv".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))
        .map_err(Error::Background)?;
    *handle = Some(started.clone());
    Ok(started)
}

/// A server in the background. It ends when this is dropped, and its open connections with it.
pub(crate) struct Serving(AbortHandle);

/// Serves each connection with the future that `connection` returns; without one, the connection is closed.
pub(crate) fn serve<F>(
    listener: TcpListener,
    mut connection: impl FnMut(TcpStream) -> Option<F> + Send + 'static,
) -> Result<Serving, Error>
where
    F: Future<Output = ()> + Send + 'static,
{
    let accept = async move {
        let tokio_listener =
            listener.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(listener));
        let Ok(listener) = tokio_listener else { return };
        let mut connections = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            if let Some(served) = connection(client) {
                connections.spawn(served);
            }
            while connections.try_join_next().is_some() {}
        }
    };
    Ok(Serving(background()?.spawn(accept).abort_handle()))
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}
