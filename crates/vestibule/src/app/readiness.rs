//! Conditions that must hold once before a webhook is ready.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

/// The time between two calls of a condition that does not hold yet.
const PERIOD: Duration = Duration::from_millis(100);
/// The pause after a panic, each of which writes a line to the log.
const PERIOD_AFTER_PANIC: Duration = Duration::from_secs(1);
/// How long [`PolledCondition::begin`] waits for the first answer, so that a condition that holds already does not delay readiness.
const FIRST_ANSWER: Duration = Duration::from_secs(1);

/// Returns a line of `/readyz?verbose`.
pub(crate) type Line = Arc<dyn Fn() -> String + Send + Sync>;

/// The result of a condition of [`App::ready_when`](crate::App::ready_when): a `bool`, or a `Result` whose error says what is
/// missing.
pub trait Holds {
    /// [`None`] if the condition holds; otherwise the reason, which may be empty.
    fn why_not(self) -> Option<String>;
}

/// A condition with the name that `/readyz` shows.
#[derive(Clone)]
pub(crate) struct Condition {
    name: String,
    why_not: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl Condition {
    pub(crate) fn new<H: Holds>(name: &str, holds: impl Fn() -> H + Send + Sync + 'static) -> Self {
        Self { name: name.to_owned(), why_not: Arc::new(move || holds().why_not()) }
    }
}

/// A condition that is called until it holds, and then stays fulfilled. Probes read the last answer.
#[derive(Clone)]
pub(crate) struct PolledCondition {
    name: String,
    /// [`None`] once the condition holds.
    answer: watch::Receiver<Option<String>>,
}

impl PolledCondition {
    /// Starts all `conditions` at once: the caller waits for [`FIRST_ANSWER`] at most, however many of them block.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) async fn begin_all(conditions: &[Condition]) -> std::io::Result<Vec<Self>> {
        try_join_all(conditions.iter().map(Self::begin)).await
    }

    /// Calls the condition on a thread of its own: an author's closure may block, and a runtime that ends does not wait for this
    /// thread.
    ///
    /// # Errors
    /// The system has no thread.
    async fn begin(condition: &Condition) -> std::io::Result<Self> {
        let (answer, mut answers) = watch::channel(Some(String::new()));
        let (why_not, runtime) = (Arc::clone(&condition.why_not), Handle::current());
        let ask = move || {
            let _runtime = runtime.enter();
            poll_until_it_holds(&*why_not, &answer);
        };
        thread::Builder::new().name("ready-when".to_owned()).spawn(ask)?;
        // Without an answer in time, the condition does not hold yet.
        let _ = timeout(FIRST_ANSWER, answers.changed()).await;
        Ok(Self { name: condition.name.clone(), answer: answers })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// [`None`] if the condition holds.
    pub(crate) fn why_not(&self) -> Option<String> {
        self.answer.borrow().clone()
    }
}

/// Returns when the condition holds, or when the receiver of the answer is dropped.
fn poll_until_it_holds(why_not: &dyn Fn() -> Option<String>, answer: &watch::Sender<Option<String>>) {
    while !answer.is_closed() {
        let (why, pause) = match catch_unwind(AssertUnwindSafe(why_not)) {
            Ok(why) => (why, PERIOD),
            Err(_) => (Some("panicked".to_owned()), PERIOD_AFTER_PANIC),
        };
        let holds = why.is_none();
        answer.send_replace(why);
        if holds {
            return;
        }
        thread::sleep(pause);
    }
}

impl Holds for bool {
    fn why_not(self) -> Option<String> {
        (!self).then(String::new)
    }
}

impl<E: Display> Holds for Result<(), E> {
    fn why_not(self) -> Option<String> {
        self.err().map(|why| why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    async fn polled<H: Holds>(holds: impl Fn() -> H + Send + Sync + 'static) -> PolledCondition {
        PolledCondition::begin(&Condition::new("cache", holds)).await.unwrap()
    }

    #[tokio::test]
    async fn a_condition_may_say_why_it_does_not_hold() {
        assert_eq!(polled(|| false).await.why_not().as_deref(), Some(""));
        assert_eq!(polled(|| Err("3 of 5")).await.why_not().as_deref(), Some("3 of 5"));
        assert_eq!(polled(|| true).await.why_not(), None);
        assert_eq!(polled(|| Ok::<_, String>(())).await.why_not(), None);
    }

    /// A poisoned Mutex in a `ready_when` closure ended the process.
    #[tokio::test]
    async fn a_condition_that_panics_is_called_again() {
        let calls = AtomicUsize::new(0);
        let mut condition = polled(move || {
            assert!(calls.fetch_add(1, Ordering::SeqCst) > 0, "the first call");
            true
        })
        .await;
        assert_eq!(condition.why_not().as_deref(), Some("panicked"));
        condition.answer.changed().await.unwrap();
        assert_eq!(condition.why_not(), None);
    }

    #[tokio::test]
    async fn a_condition_that_held_is_not_called_again() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let mut condition = polled(move || counted.fetch_add(1, Ordering::SeqCst) == 0).await;
        // The thread that asks has ended, so the answer has no sender any more.
        assert!(condition.answer.changed().await.is_err());
        assert_eq!((condition.why_not(), calls.load(Ordering::SeqCst)), (None, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn conditions_start_concurrently() {
        let (unblock, blocked) = mpsc::channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        let condition = |name: &str| {
            let blocked = Arc::clone(&blocked);
            Condition::new(name, move || blocked.lock().unwrap().recv().is_ok())
        };
        let conditions = ["one", "two", "three", "four", "five"].map(condition);
        let start = tokio::time::Instant::now();
        let begun = PolledCondition::begin_all(&conditions).await.unwrap();
        assert_eq!((begun.len(), start.elapsed()), (5, FIRST_ANSWER));
        drop(unblock);
    }

    /// The test runs on one thread, which a blocking closure would keep busy.
    #[tokio::test]
    async fn a_condition_that_blocks_does_not_block_the_runtime() {
        let (go_on, unblocked) = mpsc::channel::<()>();
        let unblocked = Mutex::new(unblocked);
        let mut condition = polled(move || unblocked.lock().unwrap().recv().is_ok()).await;
        assert_eq!(condition.why_not().as_deref(), Some(""));
        go_on.send(()).unwrap();
        condition.answer.changed().await.unwrap();
        assert_eq!(condition.why_not(), None);
    }
}
