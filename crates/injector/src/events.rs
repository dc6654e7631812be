//! Events on the owners of pods, where people look who wonder why their pods are bare, and on ConfigMaps whose rules are
//! broken.

mod report;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use tokio::task::AbortHandle;
use vestibule::identity::events::{self, Report};
use vestibule_rules::{CONTROLLER, Decision};

use crate::configuration::Finding;
use crate::{Asked, Observer};

/// The same about the same object is told at most this often.
const AGAIN: Duration = Duration::from_secs(300);

/// Writes Events beside the answers. Ends when dropped.
pub(crate) struct Events {
    queue: events::Events,
    writing: AbortHandle,
}

impl Events {
    /// To the cluster of `client`. Needs a Tokio runtime.
    pub(crate) fn to(client: Client) -> Self {
        let (queue, waiting) = events::Events::queue(AGAIN);
        let writing = tokio::spawn(waiting.write(client, CONTROLLER)).abort_handle();
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

    /// Tells of the rules in `config_map` that are wrong: not what the author wrote, which may be anything.
    pub(crate) fn not_in_force(&self, config_map: ObjectReference, errors: &[&Finding]) {
        const MOST: usize = 3;
        let mut words: Vec<_> = errors.iter().take(MOST).map(|finding| finding.headline()).collect();
        let more = errors.len().saturating_sub(MOST);
        words.extend((more > 0).then(|| format!("and {more} more")));
        let note = format!("rules that are not in force: {}", words.join("; "));
        let (reason, action) = ("RulesNotInForce", "Reload".to_owned());
        self.queue.tell(Report { about: config_map, is_warning: true, reason, action, note });
    }
}

impl Observer for Events {
    fn decided(&self, decision: &Decision, asked: &Asked<'_>) {
        report::of(decision, asked).into_iter().for_each(|report| self.queue.tell(report));
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.writing.abort();
    }
}
