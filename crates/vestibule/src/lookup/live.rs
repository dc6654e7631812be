//! One GET for everybody who asks for the same object at the same time.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use kube::Client;
use tokio::time::timeout;

use super::LookedUp;
use super::background::Background;
use super::kind::Kind;
use super::watch::Slim;

/// How long a GET is waited for. Whoever asks meanwhile holds it up, so one that is lost on a dead connection would
/// otherwise stand in the way for as long as somebody asks.
const LONGEST: Duration = Duration::from_secs(10);

/// Reads objects from the API server as they are now.
pub(super) struct Live<T> {
    pub(super) client: Client,
    pub(super) kind: Kind,
    pub(super) slim: Slim<T>,
    pub(super) flights: Mutex<BTreeMap<Place, Flight<T>>>,
}

/// [`None`] where there is no such object.
pub(super) type Answer<T> = Result<Option<Arc<T>>, Failure>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) code: Option<u16>,
    pub(super) why: String,
}

/// Namespace, or nothing, and name.
type Place = (String, String);

/// A GET on its way. Whoever waits for it holds it up; when nobody does any more it is taken back.
pub(super) struct Flight<T> {
    sent: Arc<OnceLock<Instant>>,
    answer: WeakShared<BoxFuture<'static, Answer<T>>>,
}

/// Which answers do for whoever joins a GET that is on its way already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// An object: it was there a moment ago. That there is none may be over by now, so that is asked again.
    Found,
    /// None: what was true before the question is no answer.
    Never,
}

impl<T: LookedUp> Live<T> {
    pub(super) async fn get(self: &Arc<Self>, namespace: &str, name: &str, joins: Joins) -> Answer<T> {
        let asked = Instant::now();
        let place = (namespace.to_owned(), name.to_owned());
        loop {
            let (sent, answer) = self.join(&place);
            let answer = answer.await;
            // One that was never sent is an answer too: the process ends.
            let since = sent.get().is_none_or(|sent| *sent >= asked);
            let found = matches!(answer, Ok(Some(_)));
            // The next round's GET is younger than the question, so there are two rounds at the most.
            if since || (found && joins == Joins::Found) {
                return answer;
            }
        }
    }

    fn join(
        self: &Arc<Self>,
        place: &Place,
    ) -> (Arc<OnceLock<Instant>>, Shared<BoxFuture<'static, Answer<T>>>) {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(place)
            && let Some(answer) = flight.answer.upgrade()
        {
            return (Arc::clone(&flight.sent), answer);
        }
        let sent = Arc::new(OnceLock::new());
        let landing = Landing { live: Arc::clone(self), place: place.clone(), sent: Arc::clone(&sent) };
        // It is begun by the first who waits, when nothing is locked: a runtime that ends drops the task at once, and a
        // landing takes the lock.
        let answer = async {
            let flight = Background::start(landing.fly());
            flight.await.unwrap_or_else(|_| Err(Failure::unexplained()))
        };
        let answer = answer.boxed().shared();
        if let Some(weak) = answer.downgrade() {
            flights.insert(place.clone(), Flight { sent: Arc::clone(&sent), answer: weak });
        }
        (sent, answer)
    }

    async fn read(&self, (namespace, name): &Place) -> Answer<T> {
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
        // As text: the client writes what it cannot decode into the log.
        let text = match self.client.request_text(request).await {
            Ok(text) => text,
            Err(kube::Error::Api(status)) if status.reason == "NotFound" => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let object: Result<T, _> = serde_json::from_str(&text);
        let mut object = object.map_err(|error| Failure {
            code: None,
            // serde's own words may quote a value.
            why: format!(
                "cannot decode the answer: line {} column {} does not fit the type",
                error.line(),
                error.column()
            ),
        })?;
        self.slim.apply(&mut object);
        Ok(Some(Arc::new(object)))
    }
}

/// Takes a flight off the list when it is over, however that comes.
struct Landing<T> {
    live: Arc<Live<T>>,
    place: Place,
    sent: Arc<OnceLock<Instant>>,
}

impl<T: LookedUp> Landing<T> {
    async fn fly(self) -> Answer<T> {
        let _first = self.sent.set(Instant::now());
        let late = |_| {
            let why = format!("timeout: the API server does not answer within {} s", LONGEST.as_secs());
            Err(Failure { code: None, why })
        };
        timeout(LONGEST, self.live.read(&self.place)).await.unwrap_or_else(late)
    }
}

impl<T> Drop for Landing<T> {
    fn drop(&mut self) {
        let mut flights = self.live.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if flights.get(&self.place).is_some_and(|flight| Arc::ptr_eq(&flight.sent, &self.sent)) {
            flights.remove(&self.place);
        }
    }
}

impl Failure {
    /// Only an author's `slim` can panic, and only a runtime that ends stops it.
    fn unexplained() -> Self {
        Self { code: None, why: "`slim` panicked, or the process ends".to_owned() }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self { code: Some(status.code), why: status.message },
            // The words of the two below may quote what was read.
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self { code: None, why: "cannot decode the answer: it is no JSON of Kubernetes".to_owned() }
            }
            kube::Error::Service(error) => Self { code: None, why: causes(&*error) },
            other => Self { code: None, why: causes(&other) },
        }
    }
}

/// A connection that is refused says so at the end of the chain.
fn causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let mut words = error.to_string();
    for cause in causes.map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !words.ends_with(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

/// Names often come from the object that is judged. What would leave its place in a path names no object: nothing then
/// (the API server's rule for names of any kind).
fn path_segment(name: &str) -> Option<String> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '%']) {
        return None;
    }
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b':' => encoded.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(encoded)
}

#[cfg(test)]
mod tests;
