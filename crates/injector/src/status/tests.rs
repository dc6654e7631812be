//! The statuses that one replica writes to an API server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{Stream, StreamExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use vestibule_rules::{Resource, Subject, Verb};

use super::*;
use crate::configuration::compiler::Compiler;
use crate::configuration::rule_object::source;
use crate::configuration::rule_source::RuleSource;
use crate::observer::{DecisionContext, DecisionObserver};

const GOOD: &str = r#"{"optIn":"pod","pod":{"labels":{"a":"b"}}}"#;
const BROKEN: &str = r#"{"optIn":"pod","pod":{"lables":{"a":"b"}}}"#;

/// A replica, and an API server with one Injection, `label`.
struct Fixture {
    reloader: Arc<Reloader>,
    outcomes: OutcomeMetrics,
    entries_hash: watch::Sender<String>,
    stored: Arc<Mutex<Stored>>,
    _writer: JoinSet<()>,
}

struct Stored {
    object: ObservedObject,
    watched: watch::Sender<Option<Arc<[ObservedObject]>>>,
    writes: usize,
    /// The number of refused writes of the replica's Lease; [`None`] if they are not refused.
    refused: Option<usize>,
    /// The next writes, which get no answer: whether each is carried out all the same.
    unanswered: Vec<bool>,
    /// A member of the status that the schema of the API server does not have.
    unknown: Option<&'static str>,
}

impl Stored {
    /// Answers a write of the status as the API server does.
    fn patch(&mut self, patch: &Value) -> (StatusCode, Value) {
        self.writes += 1;
        let timeout = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 504});
        if let Some(is_carried_out) = self.unanswered.pop() {
            if is_carried_out {
                self.patch(patch);
            }
            return (StatusCode::GATEWAY_TIMEOUT, timeout);
        }
        if patch["metadata"]["resourceVersion"] != self.object.resource_version.as_str() {
            let conflict = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409});
            return (StatusCode::CONFLICT, conflict);
        }
        let mut status = patch["status"].clone();
        if let (Some(unknown), Some(members)) = (self.unknown, status.as_object_mut()) {
            members.remove(unknown);
        }
        // A write without a change keeps the resource version, and no watch reports it.
        if status != self.object.status {
            self.object.status = status;
            let version: u64 = self.object.resource_version.parse().unwrap();
            self.object.resource_version = (version + 1).to_string();
            self.watched.send_replace(Some([self.object.clone()].into()));
        }
        (StatusCode::OK, json!({"metadata": {"resourceVersion": self.object.resource_version}}))
    }
}

fn client(stored: &Arc<Mutex<Stored>>) -> Client {
    let stored = Arc::clone(stored);
    let service = tower::service_fn(move |request: Request<Body>| {
        let stored = Arc::clone(&stored);
        async move {
            let (method, uri) = (request.method().clone(), request.uri().clone());
            if uri.query().unwrap_or_default().contains("watch=true") {
                let events = foreign_leases(stored.lock().unwrap().refused.is_some());
                return Ok::<_, Infallible>(Response::new(StreamBody::new(events.right_stream())));
            }
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let (status, answer) = match method {
                Method::PATCH if uri.path().ends_with("/status") => {
                    stored.lock().unwrap().patch(&serde_json::from_slice(&body).unwrap())
                }
                Method::PATCH => match &mut stored.lock().unwrap().refused {
                    Some(refused) => {
                        *refused += 1;
                        let forbidden =
                            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403});
                        (StatusCode::FORBIDDEN, forbidden)
                    }
                    None => (StatusCode::OK, serde_json::from_slice(&body).unwrap()),
                },
                _ => (
                    StatusCode::OK,
                    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": []}),
                ),
            };
            let answer = BodyStream::new(Body::from(answer.to_string().into_bytes())).left_stream();
            Ok(Response::builder().status(status).body(StreamBody::new(answer)).unwrap())
        }
    });
    Client::new(service, "injector")
}

/// A user of another namespace writes a Lease with the label of replicas fifty times a second.
fn foreign_leases(are_written: bool) -> impl Stream<Item = <BodyStream<Body> as Stream>::Item> + Send {
    let written = stream::iter(8_u64..).then(|version| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let metadata = json!({"namespace": "team", "name": "one", "resourceVersion": version.to_string()});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata});
        // In the order of kube-apiserver.
        BodyStream::new(Body::from(format!("{{\"type\":\"MODIFIED\",\"object\":{lease}}}\n").into_bytes()))
    });
    written.flatten().take(if are_written { usize::MAX } else { 0 }).chain(stream::pending()).boxed()
}

fn injection(name: &str, spec: &str) -> RuleSource {
    let spec = RawValue::from_string(spec.to_owned()).unwrap();
    source(CustomResource::Injection, None, name, Some(&spec))
}

impl Fixture {
    fn start(unknown: Option<&'static str>) -> Self {
        let (reloader, _) = Reloader::new(Compiler::new(Some("injector")), "the first rules");
        let (watched, objects) = watch::channel(None);
        let object = ObservedObject {
            resource: CustomResource::Injection,
            namespace: None,
            name: "label".to_owned(),
            source: injection("label", GOOD),
            is_status_only: false,
            generation: 1,
            resource_version: "1".to_owned(),
            status: Value::Null,
        };
        let stored = Arc::new(Mutex::new(Stored {
            object,
            watched,
            writes: 0,
            refused: None,
            unanswered: Vec::new(),
            unknown,
        }));
        let entries_hash = watch::Sender::new(reloader.current().hash());
        let outcomes = OutcomeMetrics::default();
        let writer = StatusWriter {
            client: client(&stored),
            namespace: "injector".to_owned(),
            reloader: Arc::clone(&reloader),
            entries: Entries::of([""; 0]),
            outcomes: outcomes.clone(),
            lagging: LaggingPods::default(),
            objects,
            entries_hash: entries_hash.subscribe(),
            registered: Registered::default(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(writer.run());
        Self { reloader, outcomes, entries_hash, stored, _writer: tasks }
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap()
    }

    /// Stores this version of the Injection, which is read together with `others`, and waits until its status is written.
    async fn apply(&self, spec: &str, others: &[RuleSource]) -> Value {
        let source = injection("label", spec);
        self.reload([std::slice::from_ref(&source), others].concat());
        {
            let mut stored = self.stored();
            stored.object.source = source;
            stored.object.generation += 1;
            let object = stored.object.clone();
            stored.watched.send_replace(Some([object].into()));
        }
        self.later(30).await
    }

    fn reload(&self, sources: Vec<RuleSource>) {
        self.reloader.reload(sources);
        self.entries_hash.send_replace(self.reloader.current().hash());
    }

    /// The status some seconds later.
    async fn later(&self, seconds: u64) -> Value {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.stored().object.status.clone()
    }

    /// Pods are created that the rules change.
    fn inject(&self, pods: usize, dry_run: bool) {
        let pod = r#"{"metadata":{"annotations":{"inject.vestibule.dev/label":"true"}},"spec":{"containers":[{"name":"app"}]}}"#;
        let request = json!({
            "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": "shop",
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "dryRun": dry_run,
            "operation": "CREATE", "userInfo": {"username": "alice"},
        })
        .to_string();
        let request = serde_json::from_str(&request).unwrap();
        let snapshot = self.reloader.current();
        let decision =
            snapshot.rules().evaluate(&Subject::new(pod, Resource::Pods, Verb::Create, "shop")).unwrap();
        let context = DecisionContext::new(&request, Resource::Pods, snapshot.rules().settings());
        (0..pods).for_each(|_| self.outcomes.decided(&decision, &context));
    }
}

fn condition<'s>(status: &'s Value, name: &str) -> (&'s str, &'s str, &'s str) {
    let mut all = status["conditions"].as_array().unwrap().iter();
    let one = all.find(|one| one["type"] == name).unwrap();
    let text = |key: &str| one[key].as_str().unwrap();
    (text("status"), text("reason"), text("message"))
}

/// A rule that was deleted and created again, or was without effect for a while, starts with no counts. Outcomes were not reported
/// until there were more than before.
#[tokio::test(start_paused = true)]
async fn outcomes_are_reported_after_the_counts_of_a_rule_began_anew() {
    let fixture = Fixture::start(None);
    fixture.apply(GOOD, &[]).await;
    fixture.inject(3, false);
    assert_eq!(fixture.later(120).await["counts"]["injected"], 3);
    fixture.reload(Vec::new());
    fixture.later(10).await;
    assert!(fixture.outcomes.of_rule("label").is_empty(), "counts of a rule that is gone are kept");
    fixture.reload(vec![injection("label", GOOD)]);
    fixture.inject(2, false);
    assert_eq!(fixture.later(120).await["counts"]["injected"], 5);
}

/// The status had the outcomes of this minute twice.
#[tokio::test(start_paused = true)]
async fn outcomes_are_counted_once_after_a_write_without_an_answer() {
    for is_carried_out in [true, false] {
        let fixture = Fixture::start(None);
        fixture.apply(GOOD, &[]).await;
        fixture.inject(3, false);
        fixture.stored().unanswered.push(is_carried_out);
        assert_eq!(fixture.later(10).await["counts"]["injected"], 3, "{is_carried_out}");
        assert_eq!(fixture.later(120).await["counts"]["injected"], 3, "{is_carried_out}");
        fixture.inject(2, false);
        assert_eq!(fixture.later(120).await["counts"]["injected"], 5, "{is_carried_out}");
    }
}

/// The write without an answer was carried out, and is repeated before the watch has reported it. More pods came meanwhile.
#[tokio::test(start_paused = true)]
async fn a_repeated_write_of_counts_is_the_same_write() {
    let fixture = Fixture::start(None);
    fixture.apply(GOOD, &[]).await;
    fixture.inject(3, false);
    let watched = {
        let mut stored = fixture.stored();
        stored.unanswered.push(true);
        std::mem::replace(&mut stored.watched, watch::Sender::new(None))
    };
    fixture.later(10).await;
    fixture.inject(2, false);
    fixture.stored().unanswered.push(true);
    fixture.later(20).await;
    assert!(fixture.stored().unanswered.is_empty(), "the write is not repeated");
    watched.send_replace(Some([fixture.stored().object.clone()].into()));
    fixture.stored().watched = watched;
    assert_eq!(fixture.later(120).await["counts"]["injected"], 5);
}

/// An Injection with errors had the counts of a rule of its name in a ConfigMap.
#[tokio::test(start_paused = true)]
async fn an_injection_that_is_not_in_force_has_no_counts() {
    let fixture = Fixture::start(None);
    let of_config_map =
        RuleSource::new("ConfigMap injector/rules, key a.yaml", injection("label", GOOD).text.unwrap());
    fixture.reload(vec![of_config_map.clone()]);
    let status = fixture.apply(BROKEN, &[of_config_map]).await;
    assert_eq!(condition(&status, "InForce").1, "NotAccepted");
    fixture.inject(3, false);
    assert!(fixture.later(120).await["counts"].is_null());
    // Its own outcomes are counted from the time on at which it is in force.
    fixture.apply(GOOD, &[]).await;
    fixture.inject(2, false);
    assert_eq!(fixture.later(120).await["counts"]["injected"], 2);
}

/// A dry run, which must have no effect, was counted in the status as an injected pod.
#[tokio::test(start_paused = true)]
async fn a_dry_run_is_not_counted_in_the_status() {
    let fixture = Fixture::start(None);
    fixture.apply(GOOD, &[]).await;
    fixture.inject(3, true);
    assert!(fixture.later(120).await["counts"].is_null());
    fixture.inject(1, false);
    assert_eq!(fixture.later(120).await["counts"]["injected"], 1);
}

/// The API server of a cluster with older definitions drops a member of the status. After a write without a change no later
/// state of the object was written.
#[tokio::test(start_paused = true)]
async fn a_status_that_the_api_server_does_not_take_stops_no_later_one() {
    let fixture = Fixture::start(Some("injector"));
    let status = fixture.apply(GOOD, &[]).await;
    assert_eq!(condition(&status, "InForce"), ("True", "AllReplicas", "on 1 of 1 replicas"));
    let writes = fixture.stored().writes;
    fixture.later(600).await;
    // One attempt a minute: the definition may be newer by then.
    assert!(fixture.stored().writes <= writes + 11, "{writes}, then {}", fixture.stored().writes);
    let others = [injection("other", BROKEN)];
    fixture.reload([injection("label", BROKEN)].into_iter().chain(others).collect());
    let status = fixture.later(30).await;
    assert_eq!(condition(&status, "Accepted").0, "False");
}

/// A rule without errors was said to contradict others, while another rule with errors held up the start.
#[tokio::test(start_paused = true)]
async fn a_good_rule_of_a_start_without_rules_in_force_is_no_contradiction() {
    let fixture = Fixture::start(None);
    let status = fixture.apply(GOOD, &[injection("other", BROKEN)]).await;
    assert_eq!(condition(&status, "Accepted").0, "True");
    let (word, reason, message) = condition(&status, "InForce");
    assert_eq!((word, reason), ("False", "NothingInForce"), "{message}");
}

/// A new version without errors was said to have errors, while two other documents contradicted each other.
#[tokio::test(start_paused = true)]
async fn a_good_version_that_others_hold_up_is_no_earlier_version() {
    let fixture = Fixture::start(None);
    fixture.apply(GOOD, &[]).await;
    let twice = ["a.yaml", "b.yaml"].map(|name| RuleSource::new(name, injection("x", GOOD).text.unwrap()));
    let status = fixture.apply(&GOOD.replace(r#""b""#, r#""c""#), &twice).await;
    assert_eq!(condition(&status, "Accepted").0, "True");
    let (word, reason, message) = condition(&status, "InForce");
    assert_eq!((word, reason), ("False", "Contradiction"), "{message}");
    let status = fixture.apply(BROKEN, &[]).await;
    assert_eq!(condition(&status, "InForce").1, "EarlierVersion");
}

/// After an upgrade the injector refuses documents that the former version had stored as good, and waits. They were said to be in
/// force.
#[tokio::test(start_paused = true)]
async fn stored_documents_that_are_refused_now_are_not_in_force() {
    let fixture = Fixture::start(None);
    fixture.reloader.restore(injection("label", BROKEN).documents());
    let status = fixture.apply(BROKEN, &[]).await;
    assert_eq!(condition(&status, "Accepted").0, "False");
    assert_eq!(condition(&status, "InForce").1, "NotAccepted");
    assert_eq!(fixture.reloader.current().findings().len(), 1);
}

/// Any user who may create a Lease made every replica compare all statuses as often as the user wrote.
#[tokio::test(start_paused = true)]
async fn leases_of_other_namespaces_cause_no_tight_loop() {
    let fixture = Fixture::start(None);
    // Each round tries again.
    fixture.stored().refused = Some(0);
    fixture.apply(GOOD, &[]).await;
    let rounds = fixture.stored().refused.unwrap();
    assert!(rounds <= 30 * 5 + 10, "{rounds} rounds in 30 s");
}
