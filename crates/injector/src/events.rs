//! Events on the owners of pods about rules that were left out, and on ConfigMaps about broken rules.

mod report;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use tokio::task::JoinSet;
use vestibule::identity::events::{self, Report};
use vestibule_rules::{CONTROLLER, Decision};

use crate::configuration::finding::Finding;
use crate::observer::{DecisionContext, DecisionObserver};

/// The shortest time between two equal Events about one object.
const REPEAT_INTERVAL: Duration = Duration::from_secs(300);

/// Queues Events, which a background task writes. The task ends when this is dropped.
pub(crate) struct Events {
    queue: events::Events,
    _writer: JoinSet<()>,
}

impl Events {
    /// Events on the cluster of `client`. Needs a Tokio runtime.
    pub(crate) fn new(client: Client) -> Self {
        let (queue, waiting) = events::Events::queue(REPEAT_INTERVAL);
        let mut writer = JoinSet::new();
        writer.spawn(waiting.write(client, CONTROLLER));
        Self { queue, _writer: writer }
    }

    /// The right to write Events. It is for all namespaces: an owner may be in any.
    pub(crate) fn right() -> PolicyRule {
        PolicyRule {
            api_groups: Some(vec!["events.k8s.io".to_owned()]),
            resources: Some(vec!["events".to_owned()]),
            verbs: vec!["create".to_owned(), "patch".to_owned()],
            ..PolicyRule::default()
        }
    }

    /// Reports the errors in the rules of `config_map`, without the values that the author wrote.
    pub(crate) fn not_in_force(&self, config_map: ObjectReference, errors: &[&Finding]) {
        const MAX_ERRORS: usize = 3;
        let mut words: Vec<_> = errors.iter().take(MAX_ERRORS).map(|finding| finding.headline()).collect();
        let more = errors.len().saturating_sub(MAX_ERRORS);
        words.extend((more > 0).then(|| format!("and {more} more")));
        let note = format!("rules that are not in force: {}", words.join("; "));
        let (reason, action) = ("RulesNotInForce", "Reload".to_owned());
        self.queue.tell(Report { about: config_map, is_warning: true, reason, action, note });
    }
}

impl DecisionObserver for Events {
    fn decided(&self, decision: &Decision, context: &DecisionContext<'_>) {
        report::of(decision, context).into_iter().for_each(|report| self.queue.tell(report));
    }
}
