//! An environment for one test, or a skip that is heard.

use std::borrow::Borrow;
use std::ops::Deref;

use tokio::sync::OnceCell;

use crate::log::tail;
use crate::{Environment, Error, Options, Tools, report};

/// An environment in the hands of a test. When the test panics, it shows the end of the API server's log.
///
/// Ends the environment when it is the test's own; what is shared goes with the process.
pub struct Session {
    held: Held,
    log_start: usize,
}

enum Held {
    Own(Box<Environment>),
    Shared(&'static Environment),
}

/// The environment that all tests of this process share, with an [audit log](Options::audit), or `None` where there can be none: the test is skipped.
///
/// ```no_run
/// # use vestibule_testenv as testenv;
/// # async fn a_test() -> Result<(), testenv::Error> {
/// let Some(env) = testenv::shared_or_skip().await else { return Ok(()) };
/// let namespace = env.namespace(&[("injection", "enabled")]).await?;
/// # Ok(())
/// # }
/// ```
///
/// A skip is told on standard error with its reason. With `VESTIBULE_REQUIRE_APISERVER`
/// set it is a failure. When `VESTIBULE_TEST_REPORT` names a file, a line `ran NAME` or
/// `skipped NAME REASON` is appended to it.
///
/// # Panics
/// When a control plane is there but does not start, and where a skip is a failure.
pub async fn shared_or_skip() -> Option<Session> {
    // A failure is kept too: what took minutes to fail would fail again in each test.
    static SHARED: OnceCell<Result<Environment, Error>> = OnceCell::const_new();
    let options = Options::default().audit();
    session(SHARED.get_or_init(|| Environment::start_with(&options)).await.as_ref().map(Held::Shared))
}

/// As [`shared_or_skip`], with an environment of the test's own, started as `options` say.
///
/// # Panics
/// As [`shared_or_skip`].
pub async fn start_or_skip(options: &Options) -> Option<Session> {
    match Environment::start_with(options).await {
        Ok(own) => session(Ok(Held::Own(Box::new(own)))),
        Err(error) => session(Err(&error)),
    }
}

/// kubectl and helm, or `None` where they cannot be had: the test is skipped, told as by [`shared_or_skip`], which
/// a test asks afterwards.
///
/// # Panics
/// Where a skip is a failure.
pub async fn tools_or_skip() -> Option<Tools> {
    // Minutes, when they are built.
    let tools = tokio::task::spawn_blocking(Tools::find).await;
    or_skip(tools.unwrap_or_else(|error| {
        Err(Error::Unavailable { reason: format!("the search for programs ended: {error}") })
    }))
}

fn session(started: Result<Held, &Error>) -> Option<Session> {
    let held = or_skip(started)?;
    report::ran();
    let mut session = Session { held, log_start: 0 };
    session.log_start = session.api_server_log().len();
    Some(session)
}

#[expect(clippy::panic, reason = "called by tests only, where a panic is the failure")]
fn or_skip<T>(outcome: Result<T, impl Borrow<Error>>) -> Option<T> {
    match outcome.as_ref().map_err(Borrow::borrow) {
        Ok(_) => outcome.ok(),
        Err(Error::Unavailable { reason }) if std::env::var_os("VESTIBULE_REQUIRE_APISERVER").is_none() => {
            report::skipped(reason);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

impl Deref for Session {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        match &self.held {
            Held::Own(environment) => environment,
            Held::Shared(environment) => environment,
        }
    }
}

impl Drop for Session {
    #[expect(clippy::print_stderr, reason = "the test harness shows it with the test that failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.api_server_log();
            eprintln!(
                "kube-apiserver since this test began:\n{}",
                tail(log.get(self.log_start..).unwrap_or(&log))
            );
            if self.second().is_some() {
                eprintln!("the second kube-apiserver:\n{}", tail(&self.second_api_server_log()));
            }
            let controllers = self.controller_manager_log();
            if !controllers.is_empty() {
                eprintln!("kube-controller-manager:\n{}", tail(&controllers));
            }
        }
    }
}
