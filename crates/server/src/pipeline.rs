//! The way of a request on the HTTPS port to its answer. [`Pipeline::answer`] names the stages in their order.

mod decision;
mod route;

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use vestibule_admission::Answer;

use self::decision::Call;
pub(crate) use self::route::{Route, Target};
use crate::admission_queue::{QueueFull, QueuedCall};
use crate::body::{BodyReader, ReceivedBody};
use crate::body_memory::Reservation;
use crate::client::{ClientAuthentication, ClientIdentity, Clients, Peer};
use crate::connection::Respond;
use crate::deadline::after;
use crate::limits::Limits;
use crate::observer::Observer;
use crate::offload::offload;
use crate::probes::Probes;
use crate::readiness::Readiness;
use crate::refusal::{Refusal, Refused};

const PROBES: [&str; 3] = ["/livez", "/readyz", "/startupz"];

/// Everything that requests on the HTTPS port share.
pub(crate) struct Pipeline {
    pub(crate) routes: BTreeMap<String, Route>,
    pub(crate) bodies: BodyReader,
    pub(crate) limits: Arc<Limits>,
    pub(crate) readiness: Arc<Readiness>,
    /// The probes, if they are answered on this port too.
    pub(crate) probes: Option<Probes>,
    pub(crate) clients: Clients,
    pub(crate) observer: Arc<dyn Observer>,
    /// Whether another replica may serve a path that is unknown here.
    pub(crate) ask_elsewhere: bool,
}

/// The pipeline for the requests of one connection.
pub(crate) struct ClientConnection {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) peer: Peer,
}

impl Respond for ClientConnection {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let pipeline = &self.pipeline;
        if let Some(probes) = pipeline.probes.as_ref().filter(|_| PROBES.contains(&request.uri().path())) {
            return probes.respond(request).await;
        }
        match pipeline.answer(request, &self.peer).await {
            Ok(response) => response,
            Err(refused) => {
                pipeline.observer.refused(refused.refusal);
                refused.response()
            }
        }
    }
}

impl Pipeline {
    /// All stages of a request. Each may refuse it; the first two do so before a byte of its body is read.
    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
    ) -> Result<Response<Full<Bytes>>, Refused> {
        let began = Instant::now();
        let (head, body) = request.into_parts();
        // First, so that an unknown client learns nothing about paths.
        let client = self.authenticate(peer, &head.headers).await.map_err(Refused::with_body_left)?;
        let route = self.route(&head).map_err(Refused::with_body_left)?;
        let mut call = Call::begin(began, client, &head, route.timeout);
        let body = self.receive(route, body, &call).await.map_err(Refused::with_body_left)?;
        self.check_readiness()?;
        let large = self.wait_for_large_bodies(&body, &call).await?;
        call.stages.ended("receive");
        // Before the review is decoded, so that a refused call costs little.
        let queued = self.enter_queue(large.is_some())?;
        let answer = self.decide(&route.target, &body.bytes, &mut call, queued);
        let mut answer = if large.is_some() { offload(answer).await } else { answer.await }?;
        let body = self.limits.body_memory.keep_for_answer(body.memory, take(&mut answer.body));
        Ok(response(&answer, body))
    }

    /// Identifies the client, if the settings ask for that, and refuses an unknown one if they require it.
    async fn authenticate(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
    ) -> Result<Option<ClientIdentity>, Refused> {
        let client = peer.identify(&self.clients, headers).await;
        if let Some(client) = client {
            self.observer.identified(client);
            if self.clients.authentication == ClientAuthentication::Require && !client.is_known() {
                // A server that is not ready may still lack the CA or keys to verify the client.
                self.check_readiness()?;
                return Err(Refusal::Unauthenticated.because(client.explanation()));
            }
        }
        Ok(client)
    }

    /// Reads the body. It waits for memory until half of the time is over; the rest is the handler's.
    async fn receive(&self, route: &Route, body: Incoming, call: &Call) -> Result<ReceivedBody<'_>, Refused> {
        self.bodies.receive(body, route.max_body, after(call.began, call.budget / 2)).await
    }

    fn check_readiness(&self) -> Result<(), Refused> {
        let missing = self.readiness.missing();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Refusal::NotReady.because(format!("not ready: {}", missing.join(", "))))
    }

    /// Waits until a large body may be processed; [`None`] for other bodies.
    async fn wait_for_large_bodies(
        &self,
        body: &ReceivedBody<'_>,
        call: &Call,
    ) -> Result<Option<Reservation<'_>>, Refused> {
        let processed = self.limits.body_memory.process_large(body.bytes.len());
        timeout_at(call.deadline, processed).await.map_err(|_| {
            let why = "too many requests: timeout while other large requests were worked on; try again";
            Refusal::DeadlinePassed.because(why)
        })
    }

    fn enter_queue(&self, is_large: bool) -> Result<QueuedCall<'_>, Refused> {
        let queue = if is_large { &self.limits.large_queue } else { &self.limits.queue };
        queue.enter().map_err(|QueueFull| {
            Refusal::QueueFull.because("too many requests: the queue is full; try again")
        })
    }
}

fn response(answer: &Answer, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if let Some(seconds) = answer.retry_after_seconds {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
