//! From a request on a hook's path to its answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use vestibule_admission::{Answer, ConversionHook, ConversionReview, Hook, Review, Trace};

use crate::apart::apart;
use crate::body::{Bodies, Received};
use crate::client::{ClientAuthentication, ClientIdentity, Clients, Peer};
use crate::connection::Respond;
use crate::deadline;
use crate::gate::{Full as QueueFull, Late, NoTurn, Place};
use crate::load::Limits;
use crate::observer::{Converted, Decided, Observer};
use crate::probes::Probes;
use crate::readiness::Readiness;
use crate::refusal::{Refusal, Refused};
use crate::trace::{Stages, trace};

const PROBES: [&str; 3] = ["/livez", "/readyz", "/startupz"];

/// Everything that is served over HTTPS.
pub(crate) struct Hooks {
    pub(crate) routes: BTreeMap<String, Route>,
    pub(crate) bodies: Bodies,
    pub(crate) conversion_bodies: Bodies,
    pub(crate) limits: Arc<Limits>,
    pub(crate) readiness: Arc<Readiness>,
    /// Where probes are answered here too.
    pub(crate) probes: Option<Probes>,
    pub(crate) clients: Clients,
    pub(crate) observer: Arc<dyn Observer>,
    /// Whether another replica may serve a path that is unknown here.
    pub(crate) ask_elsewhere: bool,
}

/// Who answers at a path, and the longest time that may take.
pub(crate) struct Route {
    pub(crate) to: To,
    pub(crate) timeout: Duration,
}

/// Of the two conversations, the one that is held at a path.
pub(crate) enum To {
    Hook(Hook),
    Conversion(ConversionHook),
}

/// What is served over HTTPS, to one client.
pub(crate) struct Visit {
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) peer: Peer,
}

impl Respond for Visit {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let hooks = &self.hooks;
        if let Some(probes) = hooks.probes.as_ref().filter(|_| PROBES.contains(&request.uri().path())) {
            return probes.respond(request).await;
        }
        match hooks.exchange(request, &self.peer).await {
            Ok(answer) => response(answer),
            Err(refused) => {
                hooks.observer.refused(refused.refusal);
                refused.response()
            }
        }
    }
}

impl Hooks {
    async fn exchange(&self, request: Request<Incoming>, peer: &Peer) -> Result<Answer, Refused> {
        let began = Instant::now();
        let (head, body) = request.into_parts();
        // First of all: a stranger learns nothing, and none of his body is read.
        let client = self.identify(peer, &head.headers).await.map_err(Refused::with_body_left)?;
        let route = self.route(&head).map_err(Refused::with_body_left)?;
        let timeout = deadline::timeout(head.uri.query(), route.timeout);
        let budget = deadline::budget(timeout);
        let (deadline, trace) = (deadline::after(began, budget), trace(&head.headers));
        let mut time =
            Time { began, timeout, budget, deadline, client, trace, stages: Stages::beginning(began) };
        let body = self.receive(route, body, &time).await.map_err(Refused::with_body_left)?;
        self.check_readiness()?;
        let room = &self.limits.room;
        let work = timeout_at(deadline, room.work_on(body.bytes.len())).await;
        let work = work.map_err(|_| {
            let why = "too many requests: timeout while other large requests were worked on; try again";
            Refusal::DeadlinePassed.because(why)
        })?;
        time.stages.ended("receive");
        // Before it is looked at: whoever is turned away is to cost little.
        let full = |QueueFull| Refusal::QueueFull.because("too many requests: the queue is full; try again");
        let gate = if work.is_some() { &self.limits.gate_of_large } else { &self.limits.gate };
        let place = gate.queue().map_err(full)?;
        let answer = self.answer(route, &body.bytes, &mut time, place);
        if work.is_some() { apart(answer).await } else { answer.await }
    }

    async fn answer(
        &self,
        route: &Route,
        body: &[u8],
        time: &mut Time,
        place: Place<'_>,
    ) -> Result<Answer, Refused> {
        match &route.to {
            To::Hook(hook) => self.admit(hook, body, time, place).await,
            To::Conversion(hook) => self.convert(hook, body, time, place).await,
        }
    }

    async fn admit(
        &self,
        hook: &Hook,
        body: &[u8],
        time: &mut Time,
        place: Place<'_>,
    ) -> Result<Answer, Refused> {
        let mut review = Review::parse(body).map_err(|error| unreadable(&error))?;
        review.request.trace = Some(time.trace);
        time.stages.ended("decode");
        let deadline = time.deadline.into_std();
        let verdict =
            self.decide(hook.name(), time, place, || hook.decide(&review.request, deadline)).await?;
        let verdict = verdict.unwrap_or_else(|Late| hook.out_of_time(time.budget, time.timeout));
        let verdict = hook.check(&review, verdict);
        time.stages.ended("check");
        let answer = hook.encode(&review, &verdict);
        time.stages.ended("encode");
        self.observer.decided(&Decided {
            hook: hook.name(),
            hook_kind: hook.kind(),
            request: &review.request,
            decision: answer.decision,
            error: answer.error,
            client: time.client,
            elapsed: time.began.elapsed(),
            stages: time.stages.all(),
        });
        Ok(answer)
    }

    async fn convert(
        &self,
        hook: &ConversionHook,
        body: &[u8],
        time: &mut Time,
        place: Place<'_>,
    ) -> Result<Answer, Refused> {
        let mut review = ConversionReview::parse(body).map_err(|error| unreadable(&error))?;
        review.request.trace = Some(time.trace);
        time.stages.ended("decode");
        let converted = self.decide(hook.name(), time, place, || hook.convert(&review.request)).await?;
        let converted = converted.unwrap_or_else(|Late| Err(hook.out_of_time(time.budget, time.timeout)));
        let answer = hook.answer(&review, &converted);
        time.stages.ended("encode");
        self.observer.converted(&Converted {
            hook: hook.name(),
            request: &review.request,
            decision: answer.decision,
            client: time.client,
            elapsed: time.began.elapsed(),
            stages: time.stages.all(),
        });
        Ok(answer)
    }

    /// Who calls, where somebody wants to know.
    async fn identify(&self, peer: &Peer, headers: &HeaderMap) -> Result<Option<ClientIdentity>, Refused> {
        let client = peer.identify(&self.clients, headers).await;
        if let Some(client) = client {
            self.observer.identified(client);
            if self.clients.authentication == ClientAuthentication::Require && !client.is_known() {
                // What is missing may be what he could be known by.
                self.check_readiness()?;
                return Err(Refusal::Unauthenticated.because(client.words()));
            }
        }
        Ok(client)
    }

    fn check_readiness(&self) -> Result<(), Refused> {
        let missing = self.readiness.missing();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Refusal::NotReady.because(format!("not ready: {}", missing.join(", "))))
    }

    fn route(&self, head: &Parts) -> Result<&Route, Refused> {
        let Some(route) = self.routes.get(head.uri.path()) else {
            let why = if self.ask_elsewhere {
                "service unavailable: no webhook is served at this path here; another replica may serve it"
            } else {
                "not found: no webhook is served at this path"
            };
            return Err(Refusal::UnknownPath.because(why).or_elsewhere(self.ask_elsewhere));
        };
        if head.method != Method::POST {
            return Err(Refusal::Method.because("method not allowed: a webhook takes POST"));
        }
        if !is_json(&head.headers) {
            return Err(
                Refusal::MediaType.because("unsupported media type: a webhook takes application/json")
            );
        }
        // Decompressed, a small body may be larger than every limit.
        if head.headers.contains_key(CONTENT_ENCODING) {
            return Err(
                Refusal::MediaType.because("unsupported media type: a webhook takes no content encoding")
            );
        }
        Ok(route)
    }

    /// Waits for room for the body until half of the time is over: the rest is the handler's.
    async fn receive(&self, route: &Route, body: Incoming, time: &Time) -> Result<Received<'_>, Refused> {
        let bodies = match route.to {
            To::Hook(_) => &self.bodies,
            To::Conversion(_) => &self.conversion_bodies,
        };
        bodies.receive(body, deadline::after(time.began, time.budget / 2)).await
    }

    /// What `work` comes to within the deadline. Time spent waiting for a place counts against it as well. Whoever waits
    /// until then was never seen by a handler: that is overload, and no fault of the hook.
    async fn decide<W: Future>(
        &self,
        hook: &str,
        time: &mut Time,
        place: Place<'_>,
        work: impl FnOnce() -> W,
    ) -> Result<Result<W::Output, Late>, Refused> {
        let mut caller = Caller { hook, observer: &*self.observer, waits: true };
        let stages = &mut time.stages;
        let turn = || {
            stages.ended("wait");
            work()
        };
        let decision = place.pass(time.deadline, turn).await;
        time.stages.ended("decide");
        caller.waits = false;
        decision.map_err(|NoTurn| {
            let why = "too many requests: timeout while waiting for a handler (context deadline exceeded); try again";
            Refusal::DeadlinePassed.because(why)
        })
    }
}

/// When a request came, from whom, until when it must be answered, and where its time went.
struct Time {
    began: Instant,
    /// As long as the caller waits.
    timeout: Duration,
    /// The part of it that is there for the answer.
    budget: Duration,
    deadline: Instant,
    client: Option<ClientIdentity>,
    trace: Trace,
    stages: Stages,
}

fn unreadable(error: &impl ToString) -> Refused {
    Refusal::Unreadable.because(error.to_string())
}

/// Tells when the caller is gone: then the future that waits for the decision is dropped, and this with it.
struct Caller<'a> {
    hook: &'a str,
    observer: &'a dyn Observer,
    waits: bool,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if self.waits {
            self.observer.abandoned(self.hook);
        }
    }
}

/// Whatever parameters it has. Absent, it is taken for what it can only be.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if let Some(seconds) = answer.retry_after_seconds {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
