//! A server that answers by the table, called by the simulation and by a real API server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_caller::{Caller, FailurePolicy, Hook, Outcome, Review, ReviewVersion, judge};
use vestibule_testenv::{Answer, Recorder, Service};

use super::rows::{Asked, Row, table};
use crate::cluster::{Cluster, Namespace, Reply, TEST};

pub(crate) struct Server {
    pub(crate) recorder: Recorder,
    pub(crate) rows: Arc<Vec<Row>>,
    caller: Caller,
    current: Arc<Current>,
}

/// The current row, and the number of its requests.
#[derive(Default)]
struct Current {
    row: AtomicUsize,
    requests: AtomicUsize,
}

/// The result for the user, and the requests that the server received.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) causes: Vec<[String; 3]>,
    pub(crate) retry_after: Option<i64>,
    pub(crate) warnings: Vec<String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) object: Option<Value>,
    pub(crate) requests: usize,
}

impl Server {
    /// Starts a server named `host`, which the simulation reaches at `address`.
    pub(crate) fn start(host: &str, address: SocketAddr) -> Self {
        let rows: Arc<Vec<Row>> = Arc::new(table().into_iter().flat_map(|(_, rows)| rows).collect());
        let current = Arc::new(Current::default());
        let answer = {
            let (rows, current) = (Arc::clone(&rows), Arc::clone(&current));
            move |seen: &vestibule_testenv::Recorded| -> Answer {
                let row = &rows[current.row.load(Ordering::SeqCst)];
                let turn = current.requests.fetch_add(1, Ordering::SeqCst);
                row.answers[turn.min(row.answers.len() - 1)].to(seen)
            }
        };
        let recorder = Recorder::start(&[host], answer).unwrap();
        let address = if address.port() == 0 { recorder.address() } else { address };
        let caller =
            Caller::new(address, host, &recorder.ca_bundle().0).unwrap().service_port(address.port());
        Self { recorder, rows, caller, current }
    }

    /// The entry of a configuration.
    pub(crate) fn hook(
        &self,
        asked: Asked,
        policy: FailurePolicy,
        service: &Service,
        cluster: &Cluster,
    ) -> Value {
        let name = entry(asked, policy);
        let versions = if asked.is_v1beta1() { json!(["v1beta1", "v1"]) } else { json!(["v1"]) };
        let operation = if asked == Asked::Deleting { "DELETE" } else { "CREATE" };
        json!({
            "name": format!("{name}.oracle.test"),
            "clientConfig": { "service": service.reference("/asked"), "caBundle": self.recorder.ca_bundle() },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": [operation],
            }],
            "namespaceSelector": { "matchLabels": { TEST: cluster.home.name() } },
            "objectSelector": { "matchLabels": { "asked": name } },
            "failurePolicy": format!("{policy:?}"),
            "timeoutSeconds": asked.timeout_seconds(),
            "sideEffects": "None",
            "admissionReviewVersions": versions,
        })
    }

    /// The result of a row in the simulation.
    pub(crate) async fn judged(&self, number: usize, policy: FailurePolicy, namespace: &str) -> Seen {
        let asked = self.begin(number);
        let object = object(number, asked, policy);
        let request = match asked {
            Asked::Deleting => Review::delete(object),
            _ => Review::create(object),
        };
        let version = if asked.is_v1beta1() { ReviewVersion::V1Beta1 } else { ReviewVersion::V1 };
        let review = request.namespace(namespace).version(version).build().unwrap();
        let name = format!("{}.oracle.test", entry(asked, policy));
        let hook = match asked.is_validating() {
            true => Hook::validating(&name, "/asked"),
            false => Hook::mutating(&name, "/asked"),
        };
        let hook = hook.timeout(Duration::from_secs(asked.timeout_seconds().into()));
        let outcome = match self.caller.call(&review, &hook).await {
            Ok(answer) => judge(&review, &hook, &answer),
            Err(error) => error.outcome(&hook),
        };
        let mut seen = of_outcome(outcome, policy, &review);
        self.settle(&mut seen);
        seen
    }

    /// The result of a row in a real API server, without the audit annotations, which are read later.
    pub(crate) async fn real(&self, number: usize, policy: FailurePolicy, namespace: &Namespace) -> Seen {
        let asked = self.rows[number].asked;
        let object = object(number, asked, policy);
        let reply = if asked == Asked::Deleting {
            namespace.create(&object).await.object();
            self.begin(number);
            namespace.delete(&object).await
        } else {
            self.begin(number);
            namespace.create_dry_run(&object).await
        };
        let mut seen = of_reply(&reply, asked);
        self.settle(&mut seen);
        seen
    }

    /// Counts the requests, and removes the uid from the message.
    fn settle(&self, seen: &mut Seen) {
        let requests = self.recorder.take();
        seen.requests = requests.len();
        if let Some(uid) =
            requests.first().and_then(|first| first.review()["request"]["uid"].as_str().map(str::to_owned))
        {
            seen.message = seen.message.replace(&uid, "UID");
        }
    }

    fn begin(&self, number: usize) -> Asked {
        self.current.row.store(number, Ordering::SeqCst);
        self.current.requests.store(0, Ordering::SeqCst);
        self.recorder.take();
        self.rows[number].asked
    }
}

fn entry(asked: Asked, policy: FailurePolicy) -> String {
    format!("{}-{policy:?}", asked.name()).to_lowercase()
}

fn object(number: usize, asked: Asked, policy: FailurePolicy) -> Value {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": super::name(number, policy),
            "labels": { "asked": entry(asked, policy) },
            "annotations": { "kept": "yes" },
            "finalizers": ["a.test/a", "a.test/b"],
        },
        "data": { "user": "kept" },
    });
    if asked == Asked::Deleting {
        object["metadata"].as_object_mut().unwrap().remove("finalizers");
    }
    object
}

fn of_outcome(outcome: Outcome, policy: FailurePolicy, review: &Review) -> Seen {
    let admitted = |object: Option<&Value>| Seen {
        code: if object.is_some() { 201 } else { 200 },
        object: object.map(own),
        ..Seen::default()
    };
    match outcome {
        Outcome::Allowed(allowed) => Seen {
            warnings: allowed.warnings.shown,
            annotations: allowed.audit_annotations.kept,
            ..admitted(allowed.object.as_ref())
        },
        Outcome::Denied(denied) => Seen {
            code: denied.code,
            reason: denied.reason,
            message: denied.message,
            causes: denied
                .causes
                .into_iter()
                .map(|cause| [cause.reason, cause.message, cause.field])
                .collect(),
            retry_after: denied.retry_after_seconds.map(i64::from),
            warnings: denied.warnings.shown,
            annotations: denied.audit_annotations.kept,
            ..Seen::default()
        },
        Outcome::Failed(failed) => {
            let user = match failed.ignorable && policy == FailurePolicy::Ignore {
                true => admitted(review.object()),
                false => Seen {
                    code: 500,
                    reason: "InternalError".to_owned(),
                    message: failed.message,
                    ..Seen::default()
                },
            };
            Seen { warnings: failed.warnings.shown, annotations: failed.audit_annotations.kept, ..user }
        }
    }
}

fn of_reply(reply: &Reply, asked: Asked) -> Seen {
    let body = reply.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut seen = Seen { code: reply.status.into(), warnings: reply.warnings.clone(), ..Seen::default() };
    if reply.status < 300 {
        seen.object = (asked != Asked::Deleting).then(|| own(&body));
        return seen;
    }
    (seen.reason, seen.message) = (text(&body["reason"]), text(&body["message"]));
    seen.retry_after = body["details"]["retryAfterSeconds"].as_i64();
    if seen.reason != "InternalError" {
        let causes = body["details"]["causes"].as_array().map_or(&[][..], Vec::as_slice);
        let member = |cause: &Value| ["reason", "message", "field"].map(|member| text(&cause[member]));
        seen.causes = causes.iter().map(member).collect();
    }
    seen
}

/// The object without the fields that the API server adds, in its own notation: no null strings and no empty maps.
fn own(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for added in ["uid", "creationTimestamp", "managedFields", "resourceVersion"] {
            metadata.remove(added);
        }
    }
    if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
        data.values_mut().filter(|text| text.is_null()).for_each(|text| *text = json!(""));
    }
    if object.get("data") == Some(&json!({})) {
        object.as_object_mut().unwrap().remove("data");
    }
    object
}
