//! Writes Kubernetes Events in a task of its own and at a limited rate. An Event is a write to etcd, and no other work waits
//! for one.

mod rate_limit;

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::with_causes;
use rate_limit::{Key, RateLimit};

/// The most reports that wait; further ones are dropped.
const MAX_QUEUED: usize = 256;

/// The API server refuses longer notes than a kilobyte.
const MAX_NOTE_BYTES: usize = 1_000;
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
const WARNING_INTERVAL: Duration = Duration::from_secs(300);

/// An Event about one object.
#[derive(Clone, PartialEq)]
pub struct Report {
    /// The object that it is about. `kubectl describe` finds it by its uid. The uid of a ConfigMap is read if it is
    /// not given.
    pub about: ObjectReference,
    /// Whether the Event has the type `Warning`: the operator has to act, or a change of another program was repaired.
    pub is_warning: bool,
    /// The reason: one word in CamelCase.
    pub reason: &'static str,
    /// The action that was done or attempted.
    pub action: String,
    /// The text: names and places, never content of an object. The first kilobyte is kept.
    pub note: String,
}

/// The sending end of a queue of reports; [`Waiting::write`] writes them. Clones share the queue.
#[derive(Clone)]
pub struct Events(mpsc::Sender<Report>);

/// The reports that are not written yet.
pub struct Waiting {
    queue: mpsc::Receiver<Report>,
    repeat_after: Duration,
}

impl Events {
    /// A queue, and its other end. An equal report about the same object is written again after `repeat_after` at the earliest;
    /// Kubernetes then counts it in the same Event. Of all reports 25 are written at once, and one more every two seconds.
    pub fn queue(repeat_after: Duration) -> (Self, Waiting) {
        let (events, queue) = mpsc::channel(MAX_QUEUED);
        (Self(events), Waiting { queue, repeat_after })
    }

    /// Queues a report. It is dropped if 256 reports wait already.
    pub fn tell(&self, report: Report) {
        let _ = self.0.try_send(report);
    }
}

impl Waiting {
    /// Writes the reports one after the other, until every [`Events`] is dropped. Failed writes are logged, at most every
    /// five minutes.
    ///
    /// Needs the right to create and patch Events of the group `events.k8s.io` in the namespaces of the objects; Events of
    /// objects without a namespace are in `default`.
    pub async fn write(mut self, client: Client, controller: &str) {
        let reporter = Reporter { controller: controller.to_owned(), instance: Some(instance(controller)) };
        let recorder = Recorder::new(client.clone(), reporter);
        let mut rate_limit = RateLimit::new(self.repeat_after, Instant::now());
        let mut last_warning: Option<Instant> = None;
        while let Some(report) = self.queue.recv().await {
            let now = Instant::now();
            if !rate_limit.admits(Key::of(&report), now) {
                continue;
            }
            let written = async {
                let (event, about) = report.event(&client).await;
                recorder.publish(&event, &about).await
            };
            let error = match timeout(WRITE_TIMEOUT, written).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => with_causes(&error),
                Err(_) => "the API server does not answer".to_owned(),
            };
            if last_warning.is_none_or(|last| now.duration_since(last) >= WARNING_INTERVAL) {
                last_warning = Some(now);
                tracing::warn!(error, "an Event cannot be written; nothing else depends on it");
            }
        }
    }
}

/// The name of this process among the replicas of `controller`: that of its pod, as the Downward API or the kubelet says it.
#[must_use]
pub fn instance(controller: &str) -> String {
    let pod = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME"));
    pod.unwrap_or_else(|_| format!("{controller}-{}", std::process::id()))
}

#[cfg(test)]
impl Waiting {
    pub(crate) fn next(&mut self) -> Option<Report> {
        self.queue.try_recv().ok()
    }
}

impl Report {
    async fn event(self, client: &Client) -> (Event, ObjectReference) {
        let Self { mut about, is_warning, reason, action, note } = self;
        if let (None, Some("ConfigMap"), Some(name), Some(namespace)) =
            (&about.uid, about.kind.as_deref(), &about.name, &about.namespace)
        {
            let found = Api::<ConfigMap>::namespaced(client.clone(), namespace).get_metadata(name).await;
            about.uid = found.ok().and_then(|found| found.metadata.uid);
        }
        let type_ = if is_warning { EventType::Warning } else { EventType::Normal };
        let note = Some(truncated(note));
        (Event { type_, reason: reason.to_owned(), note, action, secondary: None }, about)
    }
}

/// Truncates to a byte limit at a character boundary.
fn truncated(mut note: String) -> String {
    let ends = note.char_indices().map(|(at, character)| at + character.len_utf8());
    let end = ends.take_while(|end| *end <= MAX_NOTE_BYTES).last().unwrap_or_default();
    note.truncate(end);
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_ends_with_a_whole_letter() {
        assert_eq!(truncated("ä".repeat(600)).len(), 1_000);
        assert_eq!(truncated(format!("{}ä", "a".repeat(999))).len(), 999);
        assert_eq!(truncated("as it is".to_owned()), "as it is");
    }
}
