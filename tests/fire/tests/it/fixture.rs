//! What the tests on real API servers share.

use std::path::Path;
use std::time::Duration;

use fire::{Options, Soak};
use vestibule_testenv::Session;

pub(crate) use vestibule_testenv::shared_or_skip;

/// Longer than anything that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A soak beside others.
pub(crate) struct Fixture {
    session: Session,
    options: Options,
}

impl Fixture {
    /// With fewer calls, and leaves that live longer, than a soak that is alone.
    pub(crate) async fn shared_or_skip(arguments: &[&str]) -> Option<Self> {
        const MODEST: [&str; 3] = ["--api-servers=1", "--leaf=10", "--rate=25"];
        let options = Options::of(&[&MODEST, arguments].concat()).unwrap();
        Some(Self { session: shared_or_skip().await?, options })
    }

    /// Replicas that are ready, under load.
    pub(crate) async fn begin(&self) -> Soak<'_> {
        let program = Path::new(env!("CARGO_BIN_EXE_replica"));
        let mut soak = Soak::start(&self.session, program, &self.options).await.unwrap();
        soak.load().unwrap();
        soak
    }

    /// Calls a second.
    pub(crate) fn rate(&self) -> f64 {
        self.options.rate.into()
    }

    pub(crate) fn leaf_life(&self) -> Duration {
        self.options.timing.leaf_life()
    }
}
