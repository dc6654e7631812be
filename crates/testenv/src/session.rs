//! An environment for one test, or a reported skip of that test.

use std::borrow::Borrow;
use std::ops::Deref;

use tokio::sync::OnceCell;

use crate::binaries::Tools;
use crate::environment::{API_SERVER, Environment, Options, SECOND_API_SERVER};
use crate::error::Error;
use crate::log_tail::tail;
use crate::report;

/// The environment of one test. When the test panics, the end of the API server's log is printed.
///
/// A drop ends an environment of the test's own; the shared one ends with the process.
pub struct Session {
    environment: Source,
    log_start: usize,
}

enum Source {
    Own(Box<Environment>),
    Shared(&'static Environment),
}

/// The environment that all tests of this process share, with an [audit log](Options::audit); `None` if this machine cannot
/// start one, in which case the test is skipped.
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
/// A skip is reported on standard error with its reason. With `VESTIBULE_REQUIRE_APISERVER`
/// set, a skip is a failure. When `VESTIBULE_TEST_REPORT` names a file, a line `ran NAME` or
/// `skipped NAME REASON` is appended to it.
///
/// # Panics
/// When the control plane does not start, or when a skip is a failure.
pub async fn shared_or_skip() -> Option<Session> {
    // A failure is kept too: a second attempt could take minutes in each test and would fail again.
    static SHARED: OnceCell<Result<Environment, Error>> = OnceCell::const_new();
    let options = Options::default().audit();
    session(SHARED.get_or_init(|| Environment::start_with(&options)).await.as_ref().map(Source::Shared))
}

/// As [`shared_or_skip`], with an environment of the test's own, started with `options`.
///
/// # Panics
/// As [`shared_or_skip`].
pub async fn start_or_skip(options: &Options) -> Option<Session> {
    match Environment::start_with(options).await {
        Ok(own) => session(Ok(Source::Own(Box::new(own)))),
        Err(error) => session(Err(&error)),
    }
}

/// kubectl and helm; `None` if they can be neither found nor built, in which case the test is skipped and reported as by
/// [`shared_or_skip`]. A test calls this first.
///
/// # Panics
/// When a skip is a failure.
pub async fn tools_or_skip() -> Option<Tools> {
    // A build takes minutes and blocks.
    let tools = tokio::task::spawn_blocking(Tools::find).await;
    or_skip(tools.unwrap_or_else(|error| {
        Err(Error::Unavailable { reason: format!("the search for programs ended: {error}") })
    }))
}

fn session(started: Result<Source, &Error>) -> Option<Session> {
    let environment = or_skip(started)?;
    report::ran();
    let mut session = Session { environment, log_start: 0 };
    session.log_start = session.watchdog.program(API_SERVER).log().len();
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
        match &self.environment {
            Source::Own(environment) => environment,
            Source::Shared(environment) => environment,
        }
    }
}

impl Drop for Session {
    #[expect(clippy::print_stderr, reason = "the test harness shows it with the test that failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.watchdog.program(API_SERVER).log();
            eprintln!(
                "kube-apiserver since this test began:\n{}",
                tail(log.get(self.log_start..).unwrap_or(&log))
            );
            if self.second().is_some() {
                eprintln!(
                    "the second kube-apiserver:\n{}",
                    tail(&self.watchdog.program(SECOND_API_SERVER).log())
                );
            }
            let controllers = self.controller_manager_log();
            if !controllers.is_empty() {
                eprintln!("kube-controller-manager:\n{}", tail(&controllers));
            }
        }
    }
}
