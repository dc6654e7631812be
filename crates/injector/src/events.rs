//! Events on the owners of pods about rules that were left out, and on ConfigMaps about broken rules.

mod report;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::task::JoinSet;
use vestibule::identity::events::{self, Report};
use vestibule_rules::{CONTROLLER, Decision};

use crate::configuration::finding::{Finding, first_texts};
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

    /// Reports the errors in the rules of `config_map`, without the values that the author wrote.
    pub(crate) fn not_in_force(&self, config_map: ObjectReference, errors: &[&Finding]) {
        const MAX_ERRORS: usize = 3;
        let errors = first_texts(errors.iter().map(|finding| finding.headline()), MAX_ERRORS);
        let note = format!("rules that are not in force: {errors}");
        let (reason, action) = ("RulesNotInForce", "Reload".to_owned());
        self.queue.tell(Report { about: config_map, is_warning: true, reason, action, note });
    }
}

impl DecisionObserver for Events {
    fn decided(&self, decision: &Decision, context: &DecisionContext<'_>) {
        report::of(decision, context).into_iter().for_each(|report| self.queue.tell(report));
    }
}
