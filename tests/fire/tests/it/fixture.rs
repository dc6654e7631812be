//! What the tests on real API servers share.

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use fire::{Options, Report, Soak, soak_in};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use vestibule_testenv::{self as testenv, Environment, Session, start_or_skip};

/// Longer than anything that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A soak is alone; other tests run together, but not while there is a soak.
static TESTS: RwLock<()> = RwLock::const_new(());

/// The environment of tests that run together.
pub(crate) struct Shared {
    session: Session,
    _together: RwLockReadGuard<'static, ()>,
}

impl Deref for Shared {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.session
    }
}

/// The environment of tests that run together, once no soak is under way.
pub(crate) async fn shared_or_skip() -> Option<Shared> {
    let together = TESTS.read().await;
    Some(Shared { session: testenv::shared_or_skip().await?, _together: together })
}

pub(crate) struct Fixture {
    session: Session,
    options: Options,
    _turn: Turn,
}

/// Held for as long as a fixture is.
enum Turn {
    /// Leaves live for seconds, and machines are small: one soak at a time.
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
    Together {
        _guard: RwLockReadGuard<'static, ()>,
    },
}

impl Fixture {
    /// API servers for a soak with these arguments.
    pub(crate) async fn start_or_skip(arguments: &[&str]) -> Option<Self> {
        let options = Options::of(arguments).unwrap();
        let alone = TESTS.write().await;
        let mut settings = testenv::Options::default();
        if options.api_servers > 1 {
            settings = settings.second_api_server();
        }
        let turn = Turn::Alone { _guard: alone };
        Some(Self { session: start_or_skip(&settings).await?, options, _turn: turn })
    }

    /// The environment of tests that run together, for fewer calls and with leaves that live longer.
    pub(crate) async fn shared_or_skip(arguments: &[&str]) -> Option<Self> {
        const MODEST: [&str; 3] = ["--api-servers=1", "--leaf=10", "--rate=25"];
        let options = Options::of(&[&MODEST, arguments].concat()).unwrap();
        let turn = Turn::Together { _guard: TESTS.read().await };
        Some(Self { session: testenv::shared_or_skip().await?, options, _turn: turn })
    }

    /// A whole soak.
    pub(crate) async fn soak(&self) -> Report {
        soak_in(&self.session, &self.options, program(), |_| {}).await.unwrap()
    }

    /// Replicas that are ready, under load.
    pub(crate) async fn begin(&self) -> Soak<'_> {
        let mut soak = Soak::start(&self.session, program(), &self.options).await.unwrap();
        soak.load().unwrap();
        soak
    }

    pub(crate) fn leaf_life(&self) -> Duration {
        self.options.timing.leaf_life()
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_replica"))
}
