//! The shared API server for one test.

mod namespace;
mod reply;

use kube::Client;
use vestibule_testenv::{self as testenv, Session};

pub(crate) use self::namespace::Namespace;
pub(crate) use self::reply::Reply;

/// The label of the namespaces of a test, which its webhooks select.
pub(crate) const TEST: &str = "test";

/// One test's part of the shared API server.
pub(crate) struct Cluster {
    pub(crate) environment: Session,
    /// The namespace of the webhook's Service; its name is also the value of the test's label.
    pub(crate) home: Namespace,
    client: Client,
}

impl Cluster {
    /// `None` if there is no API server; the test is then skipped and reported.
    pub(crate) async fn shared() -> Option<Self> {
        Some(Self::of(testenv::shared_or_skip().await?).await)
    }

    /// An API server of the test's own.
    pub(crate) async fn of(environment: Session) -> Self {
        let client = environment.admin().unwrap();
        let name = environment.namespace(&[]).await.unwrap().name().to_owned();
        let home = Namespace::new(client.clone(), name);
        home.label(TEST, home.name()).await;
        Self { environment, home, client }
    }

    /// A namespace for whose objects the test's webhooks are called.
    pub(crate) async fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        let mut all = vec![(TEST, self.home.name())];
        all.extend_from_slice(labels);
        let namespace = self.environment.namespace(&all).await.unwrap();
        Namespace::new(self.client.clone(), namespace.name().to_owned())
    }

    /// A client of the administrator.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }
}
