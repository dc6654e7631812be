//! The runtime of balancers, proxies and recorders, which outlives the runtimes of tests.

use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle};

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
