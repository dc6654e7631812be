//! The API server, as one test sees it.

mod namespace;
mod reply;

use kube::Client;
use vestibule_testenv::{self as testenv, Session};

pub(crate) use self::namespace::Namespace;
pub(crate) use self::reply::Reply;

/// The label that every namespace of a test carries, and that its webhooks ask for.
pub(crate) const TEST: &str = "test";

/// One test's part of the shared API server.
pub(crate) struct Cluster {
    pub(crate) environment: Session,
    /// Where the webhook's own Service is; its name is the test's own label value.
    pub(crate) home: Namespace,
    client: Client,
}

impl Cluster {
    /// `None` where there is no API server to be had: the test is skipped, and says so.
    pub(crate) async fn shared() -> Option<Self> {
        Some(Self::of(testenv::shared_or_skip().await?).await)
    }

    /// All of an API server of the test's own.
    pub(crate) async fn of(environment: Session) -> Self {
        let client = environment.admin().unwrap();
        let name = environment.namespace(&[]).await.unwrap().name().to_owned();
        let home = Namespace::new(client.clone(), name);
        home.label(TEST, home.name()).await;
        Self { environment, home, client }
    }

    /// A namespace whose objects go past the test's webhooks.
    pub(crate) async fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        let mut all = vec![(TEST, self.home.name())];
        all.extend_from_slice(labels);
        let namespace = self.environment.namespace(&all).await.unwrap();
        Namespace::new(self.client.clone(), namespace.name().to_owned())
    }

    /// The API server in the eyes of an administrator.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }
}
