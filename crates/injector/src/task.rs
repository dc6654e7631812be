//! A background task that ends with its owner.

use tokio::task::AbortHandle;

/// Aborts its task when it is dropped.
pub(crate) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    /// Needs a Tokio runtime.
    pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(task).abort_handle())
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
