//! The state of a watch after its first list.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;

/// A watch is renewed every minute at the latest ([`short_watch`](vestibule_identity::short_watch)). A list between two watches may
/// take as long again.
const ANSWER_EXPECTED: Duration = Duration::from_secs(120);

/// When the API server last answered a watch. While watches are refused, because of a missing right for example, the objects in
/// memory stay in use and get out of date. [`App::reports_watch`](crate::App::reports_watch) shows that.
#[derive(Clone)]
pub struct WatchState(Arc<Mutex<State>>);

struct State {
    /// [`None`] where no watch has begun.
    answered: Option<Instant>,
    error: String,
}

/// A watch, with the name of its kind.
pub(crate) type NamedWatch = (String, WatchState);

impl WatchState {
    /// A client like `client` for one watch, made by [`short_watch`](vestibule_identity::short_watch), and the state of that watch.
    /// The client observes the responses, because the stream of a watch has no event for a recovery. Needs a Tokio runtime.
    #[must_use]
    pub fn listening(client: &Client) -> (Client, Self) {
        let state = Self::idle();
        (state.begin(client), state)
    }

    /// The state of a watch that may begin later. Until then it is not broken.
    #[must_use]
    pub fn idle() -> Self {
        Self(Arc::new(Mutex::new(State { answered: None, error: String::new() })))
    }

    /// The watch begins. Returns the client for it, as [`WatchState::listening`] does.
    pub(crate) fn begin(&self, client: &Client) -> Client {
        self.state().answered = Some(Instant::now());
        let (to, state) = (client.clone(), self.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (to, state) = (to.clone(), state.clone());
            async move {
                let query = request.uri().query().unwrap_or_default();
                // A streamed list is no proof: it may still break.
                let is_watch = query.contains("watch=true") && !query.contains("sendInitialEvents=true");
                let answer = to.send(request).await;
                if is_watch && answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                    state.answered();
                }
                answer
            }
        });
        Client::new(service, client.default_namespace())
    }

    /// The watch has ended, because nothing needs it any more. It is not broken.
    pub fn end(&self) {
        self.state().answered = None;
    }

    /// Stores why the watch is not answered, for `/readyz?verbose`. Returns `true` if this is the first failure with this text since
    /// a watch was answered or a list was read.
    pub fn failed(&self, why: &str) -> bool {
        let mut state = self.state();
        let is_news = state.error != why;
        why.clone_into(&mut state.error);
        is_news
    }

    /// A list was read: the next failure will be logged again. It does not mean that watches are answered.
    pub(crate) fn listed(&self) {
        self.state().error.clear();
    }

    /// For how long no watch was answered; [`None`] for up to 120 s.
    #[must_use]
    pub fn broken(&self) -> Option<Duration> {
        Some(self.state().answered?.elapsed()).filter(|age| *age > ANSWER_EXPECTED)
    }

    /// The line of `/readyz?verbose` while the watch is broken.
    pub(crate) fn line(&self, of: &str) -> Option<String> {
        let seconds = self.broken()?.as_secs();
        let error = &self.state().error;
        let why = if error.is_empty() { "no answer" } else { error };
        Some(format!("watch of {of}: broken for {seconds} s ({why}); what was read before is in use"))
    }

    fn answered(&self) {
        let mut state = self.state();
        // The last answer may come while the watch ends.
        if state.answered.is_some() {
            *state = State { answered: Some(Instant::now()), error: String::new() };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU16, Ordering};

    use http::Response;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_an_answered_watch_ends_the_broken_state() {
        let status = Arc::new(AtomicU16::new(403));
        let answers = Arc::clone(&status);
        let service = tower::service_fn(move |_: Request<Body>| {
            let answer = Response::builder().status(answers.load(Ordering::Relaxed)).body(Body::empty());
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let (client, state) = WatchState::listening(&Client::new(service, "shop"));
        assert_eq!(client.default_namespace(), "shop");
        tokio::time::advance(ANSWER_EXPECTED).await;
        assert_eq!((state.broken(), state.line("Pod")), (None, None), "a list may take a minute");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(
            state.line("Pod").unwrap(),
            "watch of Pod: broken for 121 s (no answer); what was read before is in use"
        );
        state.failed("no pods for you");
        assert!(state.line("Pod").unwrap().contains("121 s (no pods for you)"));
        let ask = async |query: &str| {
            let request = Request::get(format!("/api/v1/pods?{query}")).body(Body::empty()).unwrap();
            client.send(request).await.unwrap();
        };
        ask("watch=true").await;
        status.store(200, Ordering::Relaxed);
        for other in ["limit=500", "watch=true&sendInitialEvents=true"] {
            ask(other).await;
            assert_eq!(state.broken(), Some(Duration::from_secs(121)), "{other}");
        }
        ask("allowWatchBookmarks=true&watch=true&resourceVersion=7").await;
        assert_eq!((state.broken(), state.line("Pod")), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_has_not_begun_or_has_ended_is_not_broken() {
        let nowhere =
            tower::service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty())));
        let (client, state) = (Client::new(nowhere, "shop"), WatchState::idle());
        let later = async || {
            tokio::time::advance(2 * ANSWER_EXPECTED).await;
            state.broken()
        };
        assert_eq!(later().await, None);
        let _client = state.begin(&client);
        assert_eq!(later().await, Some(2 * ANSWER_EXPECTED));
        state.end();
        assert_eq!(later().await, None);
    }
}
