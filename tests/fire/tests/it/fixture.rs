//! A soak on the shared API server, for the tests of this suite.

use std::path::Path;
use std::time::Duration;

use fire::{Options, Soak};
use vestibule_testenv::Session;

pub(crate) use vestibule_testenv::shared_or_skip;

/// The limit of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A soak that shares the API server with other tests.
pub(crate) struct Fixture {
    session: Session,
    options: Options,
}

impl Fixture {
    /// A soak with fewer calls and longer leaf lifetimes than one with its own API servers.
    pub(crate) async fn shared_or_skip(arguments: &[&str]) -> Option<Self> {
        const MODEST: [&str; 3] = ["--api-servers=1", "--leaf=10", "--rate=25"];
        let options = Options::of(&[&MODEST, arguments].concat()).unwrap();
        Some(Self { session: shared_or_skip().await?, options })
    }

    /// Starts replicas, waits until they are ready, and starts the load.
    pub(crate) async fn begin(&self) -> Soak<'_> {
        let program = Path::new(env!("CARGO_BIN_EXE_replica"));
        let mut soak = Soak::start(&self.session, program, &self.options).await.unwrap();
        soak.load().unwrap();
        soak
    }

    /// Calls per second.
    pub(crate) fn rate(&self) -> f64 {
        self.options.rate.into()
    }

    pub(crate) fn leaf_life(&self) -> Duration {
        self.options.timing.leaf_life()
    }
}
