//! Reads from the API server; calls that need the same object at the same time share one GET.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use kube::Client;
use kube::core::Status;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use vestibule_identity::{refusal_message, with_causes};

use super::kind::Kind;
use super::looked_up::LookedUp;
use super::store::ObjectKey;
use super::watch::Slim;

/// The timeout of a GET. Calls that join it keep it alive: without a timeout, a GET that was lost on a dead connection would block
/// the object for as long as calls come.
const GET_TIMEOUT: Duration = Duration::from_secs(10);

/// The most GETs of one lookup at a time. Names come from the reviewed objects, so a client could otherwise have the webhook flood the
/// API server.
pub(super) const MAX_GETS: usize = 16;

/// All characters but these are percent-encoded in a name.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b':');

/// Reads objects from the API server as they are now.
pub(super) struct Live<T> {
    pub(super) client: Client,
    pub(super) kind: Kind,
    pub(super) slim: Slim<T>,
    pub(super) pending: Mutex<BTreeMap<ObjectKey, PendingGet<T>>>,
    pub(super) gets: Semaphore,
}

/// [`None`] if there is no such object.
pub(super) type Answer<T> = Result<Option<Arc<T>>, Failure>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) code: Option<u16>,
    pub(super) why: String,
}

/// A GET that is not yet answered. It is cancelled when no call waits for it any more.
pub(super) struct PendingGet<T> {
    sent: Arc<OnceLock<Instant>>,
    answer: WeakShared<BoxFuture<'static, Answer<T>>>,
}

/// Whether a call may use the answer of a GET that was sent before the call began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// If an object was found. A negative answer may be out of date, so the call sends another GET.
    Found,
    /// No: the call sends a GET of its own.
    Never,
}

impl<T: LookedUp> Live<T> {
    pub(super) async fn get(self: &Arc<Self>, namespace: &str, name: &str, joins: Joins) -> Answer<T> {
        let began = Instant::now();
        let key = (namespace.to_owned(), name.to_owned());
        loop {
            let (sent, answer) = self.join(&key);
            let answer = answer.await;
            // A GET that was never sent has an answer too: the runtime is shutting down.
            let since = sent.get().is_none_or(|sent| *sent >= began);
            let found = matches!(answer, Ok(Some(_)));
            // The GET of the next round is sent after the call began, so there are two rounds at most.
            if since || (found && joins == Joins::Found) {
                return answer;
            }
        }
    }

    fn join(
        self: &Arc<Self>,
        key: &ObjectKey,
    ) -> (Arc<OnceLock<Instant>>, Shared<BoxFuture<'static, Answer<T>>>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(get) = pending.get(key)
            && let Some(answer) = get.answer.upgrade()
        {
            return (Arc::clone(&get.sent), answer);
        }
        let sent = Arc::new(OnceLock::new());
        let guard = PendingGuard { live: Arc::clone(self), key: key.clone(), sent: Arc::clone(&sent) };
        // The task is spawned by the first poll, when nothing is locked: a runtime that shuts down drops the task at once, and
        // dropping the guard takes the lock.
        let answer = async {
            let mut task = JoinSet::new();
            task.spawn(guard.get());
            match task.join_next().await {
                Some(Ok(answer)) => answer,
                _ => Err(Failure::cancelled()),
            }
        };
        let answer = answer.boxed().shared();
        if let Some(weak) = answer.downgrade() {
            pending.insert(key.clone(), PendingGet { sent: Arc::clone(&sent), answer: weak });
        }
        (sent, answer)
    }

    async fn read(&self, (namespace, name): &ObjectKey) -> Answer<T> {
        let Some(name) = path_segment(name) else { return Ok(None) };
        let namespace = if self.kind.is_namespaced {
            let Some(namespace) = path_segment(namespace) else { return Ok(None) };
            Some(namespace)
        } else {
            None
        };
        let mut request = http::Request::get(format!("{}/{name}", T::url_path(&(), namespace.as_deref())));
        if T::metadata_api() {
            request = request
                .header(http::header::ACCEPT, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        }
        let request =
            request.body(Vec::new()).map_err(|error| Failure { code: None, why: error.to_string() })?;
        // Requested as text: the client would log objects that it cannot decode.
        let text = match self.client.request_text(request).await {
            Ok(text) => text,
            Err(kube::Error::Api(status)) if status.reason == "NotFound" && !is_about_the_kind(&status) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let object: Result<T, _> = serde_json::from_str(&text);
        let mut object = object.map_err(|error| Failure {
            code: None,
            // serde's own text may quote a value.
            why: format!(
                "cannot decode the answer: line {} column {} does not fit the type",
                error.line(),
                error.column()
            ),
        })?;
        (self.slim)(&mut object);
        Ok(Some(Arc::new(object)))
    }
}

/// Whether the API server does not serve the kind at all, in this version: then the details of its `NotFound` name no object.
fn is_about_the_kind(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.name.is_empty())
}

/// Removes a pending GET from the list when it ends, by an answer, a panic or cancellation.
struct PendingGuard<T> {
    live: Arc<Live<T>>,
    key: ObjectKey,
    sent: Arc<OnceLock<Instant>>,
}

impl<T: LookedUp> PendingGuard<T> {
    async fn get(self) -> Answer<T> {
        let _permit = self.live.gets.acquire().await;
        let _first = self.sent.set(Instant::now());
        let late = |_| {
            let why = format!("timeout: the API server does not answer within {} s", GET_TIMEOUT.as_secs());
            Err(Failure { code: None, why })
        };
        timeout(GET_TIMEOUT, self.live.read(&self.key)).await.unwrap_or_else(late)
    }
}

impl<T> Drop for PendingGuard<T> {
    fn drop(&mut self) {
        let mut pending = self.live.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.get(&self.key).is_some_and(|get| Arc::ptr_eq(&get.sent, &self.sent)) {
            pending.remove(&self.key);
        }
    }
}

impl Failure {
    /// The task panicked, which only an author's `slim` can, or the runtime is shutting down.
    fn cancelled() -> Self {
        Self { code: None, why: "`slim` panicked, or the process ends".to_owned() }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self { code: Some(status.code), why: refusal_message(&status) },
            // The texts of these two may quote the response.
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self { code: None, why: "cannot decode the answer: it is no JSON of Kubernetes".to_owned() }
            }
            kube::Error::Service(error) => Self { code: None, why: with_causes(&*error) },
            other => Self { code: None, why: with_causes(&other) },
        }
    }
}

/// The name as a segment of a path; [`None`] if it cannot name an object of any kind. Names often come from the reviewed object, and
/// must not lead to another path.
fn path_segment(name: &str) -> Option<String> {
    let may_be_a_name = !matches!(name, "" | "." | "..") && !name.contains(['/', '%']);
    may_be_a_name.then(|| utf8_percent_encode(name, SEGMENT).to_string())
}

#[cfg(test)]
mod tests;
