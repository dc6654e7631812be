//! How a watch fares after its first list.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;

/// Watches are asked for anew within a minute ([`short_watch`](vestibule_identity::short_watch)). A list between two of them
/// takes its time, and is no trouble.
const USUAL: Duration = Duration::from_secs(120);

/// When the API server last answered a watch. What was read before stays in use while watches are refused, by a right that
/// was taken away for example, and grows old; nothing else tells of it. [`App::watches`](crate::App::watches) shows it.
#[derive(Clone)]
pub struct WatchState(Arc<Mutex<State>>);

struct State {
    answered: Instant,
    trouble: String,
}

/// A watch with the name of what it watches.
pub(crate) type NamedWatch = (String, WatchState);

impl WatchState {
    /// A client like `client` for one watch, by [`short_watch`](vestibule_identity::short_watch), and what becomes of that.
    /// The stream of a watch says nothing when it is answered again: the answers do. Needs a Tokio runtime.
    #[must_use]
    pub fn listening(client: &Client) -> (Client, Self) {
        let state = State { answered: Instant::now(), trouble: String::new() };
        let state = Self(Arc::new(Mutex::new(state)));
        let (to, told) = (client.clone(), state.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (to, told) = (to.clone(), told.clone());
            async move {
                let query = request.uri().query().unwrap_or_default();
                // A list that is streamed may still break.
                let is_watch = query.contains("watch=true") && !query.contains("sendInitialEvents=true");
                let answer = to.send(request).await;
                if is_watch && answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                    told.answered();
                }
                answer
            }
        });
        (Client::new(service, client.default_namespace()), state)
    }

    /// Why it is not answered, in words for people: shown for as long as it lasts. Returns whether that is news: the first
    /// failure in these words since a watch was answered or a list was read.
    pub fn failed(&self, why: &str) -> bool {
        let mut state = self.state();
        let is_news = state.trouble != why;
        why.clone_into(&mut state.trouble);
        is_news
    }

    /// A list was read: the next failure is news. Whether watches are answered, a list does not say.
    pub(crate) fn listed(&self) {
        self.state().trouble.clear();
    }

    /// For how long no watch was answered; nothing while that is as usual.
    #[must_use]
    pub fn broken(&self) -> Option<Duration> {
        Some(self.state().answered.elapsed()).filter(|age| *age > USUAL)
    }

    /// What people are told while it is broken.
    pub(crate) fn line(&self, of: &str) -> Option<String> {
        let seconds = self.broken()?.as_secs();
        let trouble = &self.state().trouble;
        let why = if trouble.is_empty() { "no answer" } else { trouble };
        Some(format!("watch of {of}: broken for {seconds} s ({why}); what was read before is in use"))
    }

    fn answered(&self) {
        *self.state() = State { answered: Instant::now(), trouble: String::new() };
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
    async fn only_a_watch_that_is_answered_ends_what_is_broken() {
        let status = Arc::new(AtomicU16::new(403));
        let answers = Arc::clone(&status);
        let service = tower::service_fn(move |_: Request<Body>| {
            let answer = Response::builder().status(answers.load(Ordering::Relaxed)).body(Body::empty());
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let (client, state) = WatchState::listening(&Client::new(service, "shop"));
        assert_eq!(client.default_namespace(), "shop");
        tokio::time::advance(USUAL).await;
        assert_eq!((state.broken(), state.line("Pod")), (None, None), "a list takes its time");
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
}
