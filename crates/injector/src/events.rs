//! Events on the owners of pods: where people look who wonder why their pods are bare.

mod pace;
mod report;

use std::time::{Duration, Instant};

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use kube::runtime::events::{Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use vestibule_rules::Decision;

use crate::{Asked, Observer};
use pace::Pace;
use report::Report;

/// Who reports, as `kubectl describe` shows it.
const CONTROLLER: &str = "vestibule.dev/injector";

/// How many reports may wait. What comes then is left out: answers never wait for Events.
const QUEUE: usize = 256;

const LONGEST_WRITE: Duration = Duration::from_secs(5);
const BETWEEN_COMPLAINTS: Duration = Duration::from_secs(300);

/// Writes Events beside the answers, a few at a time. Ends when dropped.
pub(crate) struct Events {
    queue: mpsc::Sender<Report>,
    writing: AbortHandle,
}

impl Events {
    /// To the cluster of `client`. Needs a Tokio runtime.
    pub(crate) fn to(client: Client) -> Self {
        let (queue, reports) = mpsc::channel(QUEUE);
        let writing = tokio::spawn(write(reports, client)).abort_handle();
        Self { queue, writing }
    }

    /// What it takes: an owner may be in any namespace.
    pub(crate) fn right() -> PolicyRule {
        PolicyRule {
            api_groups: Some(vec!["events.k8s.io".to_owned()]),
            resources: Some(vec!["events".to_owned()]),
            verbs: vec!["create".to_owned(), "patch".to_owned()],
            ..PolicyRule::default()
        }
    }
}

impl Observer for Events {
    fn decided(&self, decision: &Decision, asked: &Asked<'_>) {
        for report in report::of(decision, asked) {
            // Full: the owner has been told of others, or there are more owners than anybody reads about.
            let _ = self.queue.try_send(report);
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

async fn write(mut reports: mpsc::Receiver<Report>, client: Client) {
    let recorder = Recorder::new(client, Reporter::from(CONTROLLER));
    let mut pace = Pace::new(Instant::now());
    let mut complained: Option<Instant> = None;
    while let Some(report) = reports.recv().await {
        let now = Instant::now();
        if !pace.admits(report.key(), now) {
            continue;
        }
        let (event, owner) = report.event();
        let error = match tokio::time::timeout(LONGEST_WRITE, recorder.publish(&event, &owner)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the API server does not answer".to_owned(),
        };
        if complained.is_none_or(|last| now.duration_since(last) >= BETWEEN_COMPLAINTS) {
            complained = Some(now);
            tracing::warn!(error, "an Event cannot be written; answers do not depend on it");
        }
    }
}
