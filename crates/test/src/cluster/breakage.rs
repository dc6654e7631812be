//! Hooks that a test breaks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use vestibule_admission::{Handler, HandlerFuture, Request};

use vestibule::admission::{Fault, FaultKind, Verdict};

/// The way in which a hook fails.
///
/// ```no_run
/// use std::time::Duration;
/// use vestibule_test::{Breakage, Installed};
///
/// fn slow_then_well(installed: &Installed<'_>) {
///     installed.break_with("inject", Breakage::Slow(Duration::from_secs(20)));
///     // ... and the users of the webhook see the timeout.
///     installed.mend("inject");
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breakage {
    /// It decides after this time, or not at all if the timeout of the hook is shorter.
    Slow(Duration),
    /// Its handler panics.
    Panic,
    /// Its handler fails: HTTP 500.
    Error,
    /// It answers HTTP 503 with `Retry-After: 1` to every call.
    NotReady,
    /// Connections are cut while it is called, those of simultaneous calls to other hooks too.
    CutConnection,
}

/// Which hooks are broken, shared by all replicas.
#[derive(Clone)]
pub(super) struct Breaker {
    broken: Arc<Mutex<BTreeMap<String, Breakage>>>,
    cut: Arc<dyn Fn() + Send + Sync>,
}

impl Breaker {
    pub(super) fn new(cut: impl Fn() + Send + Sync + 'static) -> Self {
        Self { broken: Arc::default(), cut: Arc::new(cut) }
    }

    pub(super) fn set(&self, hook: &str, breakage: Option<Breakage>) {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        match breakage {
            Some(breakage) => drop(broken.insert(hook.to_owned(), breakage)),
            None => drop(broken.remove(hook)),
        }
    }

    fn of(&self, hook: &str) -> Option<Breakage> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get(hook).copied()
    }

    pub(super) fn around(&self, hook: &str, handler: Arc<dyn Handler>) -> impl Handler + use<> {
        Breakable { hook: hook.to_owned(), handler, breaker: self.clone() }
    }
}

struct Breakable {
    hook: String,
    handler: Arc<dyn Handler>,
    breaker: Breaker,
}

impl Handler for Breakable {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        const WHY: &str = "broken by the test";
        let decide = move || self.handler.handle(request, deadline);
        let Some(breakage) = self.breaker.of(&self.hook) else { return decide() };
        Box::pin(async move {
            match breakage {
                Breakage::Slow(time) => {
                    tokio::time::sleep(time).await;
                    decide().await
                }
                Breakage::Panic => panic!("{WHY}"),
                Breakage::Error => Fault::new(FaultKind::Error, WHY).into(),
                Breakage::NotReady => Verdict::not_ready(WHY),
                Breakage::CutConnection => {
                    (self.breaker.cut)();
                    std::future::pending().await
                }
            }
        })
    }
}
