//! The statuses that one replica writes to an API server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::*;
use crate::configuration::compiler::Compiler;
use crate::configuration::rule_object::source;
use crate::configuration::rule_source::RuleSource;

const GOOD: &str = r#"{"optIn":"pod","pod":{"labels":{"a":"b"}}}"#;
const BROKEN: &str = r#"{"optIn":"pod","pod":{"lables":{"a":"b"}}}"#;

/// A replica, and an API server with one Injection, `label`.
struct Fixture {
    reloader: Arc<Reloader>,
    entries_hash: watch::Sender<String>,
    stored: Arc<Mutex<Stored>>,
    _writer: JoinSet<()>,
}

struct Stored {
    object: ObservedObject,
    watched: watch::Sender<Option<Arc<[ObservedObject]>>>,
}

impl Stored {
    /// What the API server does with a write of a status.
    fn patch(&mut self, patch: &Value) -> (StatusCode, Value) {
        if patch["metadata"]["resourceVersion"] != self.object.resource_version.as_str() {
            let conflict = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409});
            return (StatusCode::CONFLICT, conflict);
        }
        let status = patch["status"].clone();
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
                std::future::pending::<()>().await;
            }
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let (status, answer) = match method {
                Method::PATCH if uri.path().ends_with("/status") => {
                    stored.lock().unwrap().patch(&serde_json::from_slice(&body).unwrap())
                }
                Method::PATCH => (StatusCode::OK, serde_json::from_slice(&body).unwrap()),
                _ => (
                    StatusCode::OK,
                    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": []}),
                ),
            };
            let answer = Response::builder().status(status).body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    Client::new(service, "injector")
}

fn injection(name: &str, spec: &str) -> RuleSource {
    let spec = RawValue::from_string(spec.to_owned()).unwrap();
    source(CustomResource::Injection, None, name, Some(&spec))
}

impl Fixture {
    fn start() -> Self {
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
        let stored = Arc::new(Mutex::new(Stored { object, watched }));
        let entries_hash = watch::Sender::new(reloader.current().hash());
        let writer = StatusWriter {
            client: client(&stored),
            namespace: "injector".to_owned(),
            reloader: Arc::clone(&reloader),
            entries: Entries::of([""; 0]),
            outcomes: OutcomeMetrics::default(),
            lagging: LaggingPods::default(),
            objects,
            entries_hash: entries_hash.subscribe(),
            registered: Registered::default(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(writer.run());
        Self { reloader, entries_hash, stored, _writer: tasks }
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
}

fn condition<'s>(status: &'s Value, name: &str) -> (&'s str, &'s str, &'s str) {
    let mut all = status["conditions"].as_array().unwrap().iter();
    let one = all.find(|one| one["type"] == name).unwrap();
    let text = |key: &str| one[key].as_str().unwrap();
    (text("status"), text("reason"), text("message"))
}

/// A rule without errors was said to contradict others, while another rule with errors held up the start.
#[tokio::test(start_paused = true)]
async fn a_good_rule_of_a_start_without_rules_in_force_is_no_contradiction() {
    let fixture = Fixture::start();
    let status = fixture.apply(GOOD, &[injection("other", BROKEN)]).await;
    assert_eq!(condition(&status, "Accepted").0, "True");
    let (word, reason, message) = condition(&status, "InForce");
    assert_eq!((word, reason), ("False", "NothingInForce"), "{message}");
}

/// After an upgrade the injector refuses documents that the former version had stored as good, and waits. They were said to be in
/// force.
#[tokio::test(start_paused = true)]
async fn stored_documents_that_are_refused_now_are_not_in_force() {
    let fixture = Fixture::start();
    fixture.reloader.restore(injection("label", BROKEN).documents());
    let status = fixture.apply(BROKEN, &[]).await;
    assert_eq!(condition(&status, "Accepted").0, "False");
    assert_eq!(condition(&status, "InForce").1, "NotAccepted");
    assert_eq!(fixture.reloader.current().findings().len(), 1);
}
