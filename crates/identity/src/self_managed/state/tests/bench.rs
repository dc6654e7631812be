//! A replica without a cluster.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vestibule_pki::Leaf;
use vestibule_pki::ring::Moment;

use super::super::{Operation, State};
use crate::self_managed::api_client::{Answer, ApiError, ApiErrorKind};
use crate::self_managed::watches::{self, WatchEvent};
use crate::{NamespacedName, Settings};

pub(super) const START: Moment = Moment(1_800_000_000);

/// A replica, and objects of one version after the other.
pub(super) struct Bench {
    pub(super) state: State,
    pub(super) secret: Option<Value>,
    pub(super) configuration: Option<Value>,
    /// How a configuration answers writes.
    pub(super) refusal: Option<ApiErrorKind>,
    /// Whether configurations may be read.
    pub(super) may_read: bool,
    /// The change that an admission policy makes to each write of a configuration.
    pub(super) admission: Option<fn(&mut Value)>,
    pub(super) version: u64,
    pub(super) now: Moment,
    pub(super) at: Instant,
    pub(super) reachable: bool,
}

impl Bench {
    pub(super) fn new() -> Self {
        let (state, at) = (state(&[]), Instant::now());
        Self {
            state,
            secret: None,
            configuration: None,
            refusal: None,
            may_read: true,
            admission: None,
            version: 0,
            now: START,
            at,
            reachable: true,
        }
    }

    /// Ready, with a configuration that holds the bundle.
    pub(super) fn registered() -> Self {
        let mut bench = Self { state: state(&["mutating/hooks"]), ..Self::new() };
        let service = json!({ "namespace": "demo", "name": "hooks" });
        bench.configuration = Some(json!({
            "metadata": { "name": "hooks", "resourceVersion": "0", "creationTimestamp": "2026-01-01T00:00:00Z" },
            "webhooks": [{ "name": "a", "clientConfig": { "service": service } }],
        }));
        assert!(bench.run().is_none(), "the configuration is not quiet yet");
        bench.pass(Duration::from_secs(31));
        assert!(bench.run().is_some());
        bench
    }

    /// Another replica takes the place of this one.
    pub(super) fn restart(&mut self) {
        let registrations: Vec<_> =
            self.state.registrations.iter().map(|watched| watched.name.to_string()).collect();
        let registrations: Vec<_> = registrations.iter().map(String::as_str).collect();
        self.state = state(&registrations);
    }

    /// Another program empties a bundle.
    pub(super) fn spoil_configuration(&mut self) {
        self.version += 1;
        let object = self.configuration.as_mut().unwrap();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["webhooks"][0]["clientConfig"]["caBundle"] = json!("");
        self.watch_configuration();
    }

    pub(super) fn watch_configuration(&mut self) {
        let object = serde_json::from_value(self.configuration.clone().unwrap()).unwrap();
        let event =
            WatchEvent::Configuration { position: 0, listed: false, object: watches::Change::Stored(object) };
        self.state.watch_event(event, self.now);
    }

    /// Another program writes the Secret.
    pub(super) fn edit_secret(&mut self, edit: impl FnOnce(&mut Value)) {
        self.version += 1;
        let secret = self.secret.as_mut().unwrap();
        edit(&mut secret["data"]);
        secret["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.state.watch_event(WatchEvent::Ring(Some(self.version.to_string())), self.now);
    }

    pub(super) fn pass(&mut self, span: Duration) {
        self.now = self.now.plus(span);
        self.at += span;
    }

    /// Until nothing is to be done; the leaf that is presented then.
    pub(super) fn run(&mut self) -> Option<Arc<Leaf>> {
        let mut presented = None;
        for _ in 0..100 {
            match self.state.decide(self.now, self.at) {
                None if self.state.planned.as_ref().is_some_and(|(_, when)| *when > self.at) => {
                    self.at += self.state.pause(self.at);
                }
                None => return presented,
                Some(operation) => presented = self.perform(operation).or(presented),
            }
        }
        panic!("it does not come to rest");
    }

    /// Until nothing is to be done at this moment.
    pub(super) fn run_without_waiting(&mut self) {
        while let Some(operation) = self.state.decide(self.now, self.at) {
            self.perform(operation);
        }
    }

    /// Until a configuration was to be written; the patch.
    pub(super) fn run_to_write(&mut self) -> Value {
        for _ in 0..100 {
            match self.state.decide(self.now, self.at) {
                None => self.at += self.state.pause(self.at),
                Some(operation) => {
                    let patch = if let Operation::Publish { patch, .. } = &operation {
                        Some(patch.clone())
                    } else {
                        None
                    };
                    self.perform(operation);
                    if let Some(patch) = patch {
                        return patch;
                    }
                }
            }
        }
        panic!("nothing is written");
    }

    pub(super) fn perform(&mut self, operation: Operation) -> Option<Arc<Leaf>> {
        match operation {
            Operation::ReadRing => {
                let answer = self.answer(self.secret.clone());
                self.state.ring_answered(answer, self.now, self.at);
            }
            Operation::WriteRing(mut write) => {
                let mut object: Value = serde_json::from_slice(&std::mem::take(&mut write.object)).unwrap();
                self.version += 1;
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.secret = Some(object.clone());
                let answer = self.answer(Some(object));
                self.state.ring_write_answered(*write, answer, self.now, self.at);
            }
            Operation::ReadConfiguration(position) => {
                let mut answer = self.answer(self.configuration.clone());
                if !self.may_read {
                    answer.outcome = Err(ApiError { kind: ApiErrorKind::Forbidden, text: String::new() });
                }
                self.state.configuration_answered(position, answer, self.now, self.at);
            }
            Operation::Publish { position, patch, purpose } => {
                let answer = self.write_configuration(&patch);
                self.state.patch_answered((position, purpose), answer, self.now, self.at);
            }
            Operation::Present(leaf) => return Some(leaf),
        }
        None
    }

    pub(super) fn write_configuration(&mut self, patch: &Value) -> Answer {
        if let Some(kind) = self.refusal {
            let outcome = Err(ApiError { kind, text: String::new() });
            return Answer { sent: self.at, date: None, outcome };
        }
        let object = self.configuration.as_mut().unwrap();
        if patch[0]["value"] != object["metadata"]["resourceVersion"] {
            let outcome = Err(ApiError { kind: ApiErrorKind::Conflict, text: String::new() });
            return Answer { sent: self.at, date: None, outcome };
        }
        for operation in patch.as_array().unwrap() {
            let (parent, key) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
            let (parent, key) = (object.pointer_mut(parent).unwrap(), key.replace("~1", "/"));
            match (operation["op"].as_str().unwrap(), parent) {
                ("add", Value::Array(list)) => {
                    let end = list.len();
                    let place = if key == "-" { end } else { key.parse().unwrap() };
                    list.insert(place, operation["value"].clone());
                }
                ("add", parent) => parent[key] = operation["value"].clone(),
                ("remove", Value::Array(list)) => drop(list.remove(key.parse().unwrap())),
                ("remove", parent) => drop(parent.as_object_mut().unwrap().remove(&key).unwrap()),
                _ => {}
            }
        }
        if let Some(change) = self.admission {
            change(object);
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.answer(self.configuration.clone())
    }

    pub(super) fn answer(&self, object: Option<Value>) -> Answer {
        let error = |kind| ApiError { kind, text: String::new() };
        let outcome = match object {
            _ if !self.reachable => Err(error(ApiErrorKind::Unreachable)),
            None => Err(error(ApiErrorKind::NotFound)),
            Some(object) => Ok(object.to_string().into_bytes().into()),
        };
        Answer { sent: self.at, date: None, outcome }
    }

    pub(super) fn status(&self) -> crate::Status {
        self.state.status(self.now)
    }
}

pub(super) fn state(registrations: &[&str]) -> State {
    let service = NamespacedName { namespace: "demo".to_owned(), name: "hooks".to_owned() };
    let mut settings = Settings::for_service(service);
    settings.registrations = registrations.iter().map(|name| name.parse().unwrap()).collect();
    let secret = settings.secret.clone().unwrap();
    State::new(settings, secret)
}
