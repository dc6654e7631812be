//! The code that the servers of the bench share: the change, the webhook of an author, and the same calls in process.

mod app;
pub mod paths;
pub mod sidecar;

pub use app::app;
