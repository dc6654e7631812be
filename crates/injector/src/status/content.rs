//! The conditions of an object.

use std::collections::HashMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use vestibule_rules::{CustomResource, Mode};

use super::replicas::Replicas;
use crate::configuration::finding::{Finding, first_texts};
use crate::configuration::rule_object::{ObservedObject, SWITCHED_OFF};
use crate::configuration::snapshot::{Snapshot, SnapshotState};

/// The number of findings in a message.
const MAX_FINDINGS: usize = 5;
/// The longest message of a condition (`metav1.Condition`).
const MAX_MESSAGE: usize = 32_768;

/// The input of the conditions.
pub(super) struct Facts<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The hash of its rules.
    pub(super) hash: &'a str,
    /// The texts in force by the names of their sources. A source that is an object has one text.
    pub(super) documents: HashMap<&'a str, &'a str>,
    pub(super) replicas: &'a Replicas,
    /// Whether the API server has the entries for the rules in force.
    pub(super) is_registered: bool,
}

/// How new conditions differ from the stored ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    None,
    /// Only in messages and in the number of lagging pods.
    Message,
    /// In the generation, a status or a reason.
    State,
}

/// Whether a condition holds, the reason in one word, and the message.
struct State {
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Facts<'_> {
    /// Brings the conditions in `status` up to date, and returns how they changed.
    pub(super) fn update(&self, object: &ObservedObject, status: &mut Value, now: Timestamp) -> Change {
        let accepted = self.switched_off(object).unwrap_or_else(|| self.accepted(object));
        let in_force = self.switched_off(object).unwrap_or_else(|| self.in_force(object, &accepted));
        let former = status.clone();
        let conditions = [("Accepted", accepted), ("InForce", in_force)];
        let conditions =
            conditions.map(|(name, state)| condition(&former, object.generation, name, &state, now));
        if !status.is_object() {
            *status = json!({});
        }
        status["injector"] = self.replicas.namespace.as_str().into();
        status["observedGeneration"] = object.generation.into();
        status["conditions"] = json!(conditions);
        match (*status == former, without_messages(status) == without_messages(&former)) {
            (true, _) => Change::None,
            (false, true) => Change::Message,
            (false, false) => Change::State,
        }
    }

    /// Both conditions of a rule of a namespace where the settings in force do not allow such rules.
    fn switched_off(&self, object: &ObservedObject) -> Option<State> {
        let is_on = self.snapshot.rules().settings().namespaced.is_some();
        (object.resource == CustomResource::NamespacedInjection && !is_on).then(|| State {
            holds: false,
            reason: SWITCHED_OFF,
            message: "the InjectorSettings in force do not switch rules of namespaces on".to_owned(),
        })
    }

    fn accepted(&self, object: &ObservedObject) -> State {
        let about_it = |finding: &&Finding| finding.source() == Some(&*object.source.name);
        let all = self.snapshot.findings().iter().chain(self.snapshot.namespaced.findings.iter());
        let findings: Vec<_> = all.filter(about_it).collect();
        let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).copied().collect();
        let message = |findings: &[&Finding]| {
            let text = first_texts(findings.iter().map(|finding| finding.headline()), MAX_FINDINGS);
            text.chars().take(MAX_MESSAGE).collect()
        };
        match (errors.as_slice(), findings.as_slice()) {
            ([], []) => State { holds: true, reason: "NoFindings", message: String::new() },
            ([], remarks) => State { holds: true, reason: "Warnings", message: message(remarks) },
            (errors, _) => State { holds: false, reason: "Errors", message: message(errors) },
        }
    }

    fn in_force(&self, object: &ObservedObject, accepted: &State) -> State {
        let state = |holds, reason, message: &str| State { holds, reason, message: message.to_owned() };
        let document = self.documents.get(&*object.source.name);
        let is_newest = document.is_some_and(|text| object.source.text.as_deref() == Ok(*text));
        match document {
            None if accepted.holds && self.snapshot.state() == SnapshotState::Waiting => {
                let message = "others have errors, and no earlier versions were good: no rule is in force";
                return state(false, "NothingInForce", message);
            }
            // A version without errors is held up by the errors of others.
            _ if accepted.holds && !is_newest => {
                let message =
                    "it contradicts other rules, or their errors hold it up: the rules before stay in force";
                return state(false, "Contradiction", message);
            }
            None => return state(false, "NotAccepted", "it has errors, and no earlier version was good"),
            Some(_) if !is_newest => {
                return state(false, "EarlierVersion", "the last version without errors is in force");
            }
            Some(_) if !self.is_registered => {
                return state(false, "NotRegistered", "the webhook configuration is being written");
            }
            Some(_) => {}
        }
        let (count, all) = self.replicas.of_hash(self.hash);
        let mut message = format!("on {count} of {all} replicas");
        if self.snapshot.rules().settings().mode != Mode::On {
            message.push_str("; InjectorSettings say that no rule changes anything");
        }
        let reason = if count == all { "AllReplicas" } else { "SomeReplicas" };
        State { holds: count == all && count > 0, reason, message }
    }
}

fn without_messages(status: &Value) -> Value {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["message"] = Value::Null;
    }
    status
}

/// `lastTransitionTime` stays as it is while the status does.
fn condition(former: &Value, generation: i64, name: &str, state: &State, now: Timestamp) -> Value {
    let word = if state.holds { "True" } else { "False" };
    let mut conditions = former["conditions"].as_array().into_iter().flatten();
    let same = conditions.find(|it| it["type"] == name && it["status"] == word);
    let since = same.map_or_else(|| json!(second(now)), |it| it["lastTransitionTime"].clone());
    json!({
        "type": name,
        "status": word,
        "observedGeneration": generation,
        "lastTransitionTime": since,
        "reason": state.reason,
        "message": state.message,
    })
}

/// A time as the API server stores it, in whole seconds.
pub(super) fn second(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
