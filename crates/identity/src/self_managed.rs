//! A CA ring on a cluster: any replica keeps it, none leads.

use std::sync::Arc;

use crate::{Identity, IdentityError, Leaf, Settings, Status};

/// Keeps a CA ring in a Secret and its bundle in the registered configurations, together with any number of replicas,
/// and signs its own leaf in memory. It works in a task of its own until it is dropped.
pub struct SelfManaged {
    status: Status,
}

impl SelfManaged {
    /// Begins to work.
    ///
    /// # Errors
    /// Settings that name no Secret or no name for the certificate, or that would break an invariant.
    pub fn start(_client: kube::Client, _settings: Settings) -> Result<Arc<Self>, IdentityError> {
        Ok(Arc::new(Self { status: Status::default() }))
    }

    /// Resolves when there is a certificate that every API server accepts.
    pub async fn ready(&self) {
        std::future::pending().await
    }
}

impl Identity for SelfManaged {
    fn present(&self) -> Option<Arc<Leaf>> {
        None
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        None
    }

    fn status(&self) -> Status {
        self.status.clone()
    }
}
