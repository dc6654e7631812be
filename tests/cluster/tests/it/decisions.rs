//! The decisions of a webhook, call by call.

use std::sync::Arc;

use tokio::sync::watch;
use vestibule_admission::Decision;
use vestibule_server::{Decided, Observer};

/// Keeps the decisions of a webhook, of all its replicas.
#[derive(Clone, Default)]
pub(crate) struct Decisions(Arc<watch::Sender<Vec<CallDecision>>>);

/// One decision about one call.
#[derive(Clone)]
pub(crate) struct CallDecision {
    pub(crate) hook: String,
    pub(crate) uid: String,
    pub(crate) decision: Decision,
}

impl Decisions {
    /// All calls so far, in order.
    pub(crate) fn made(&self) -> Vec<CallDecision> {
        self.0.borrow().clone()
    }

    /// The decisions since the last call of this function.
    pub(crate) fn take(&self) -> Vec<Decision> {
        let made = self.0.send_replace(Vec::new());
        made.into_iter().map(|made| made.decision).collect()
    }

    /// The decisions since the last call, without repetitions. If its copy of the object is outdated, the API server repeats an
    /// update or a deletion and the call, which must give the same decision.
    pub(crate) fn take_distinct(&self) -> Vec<Decision> {
        let mut decisions = self.take();
        decisions.dedup();
        decisions
    }

    /// Waits until `count` decisions have been made.
    pub(crate) async fn wait_for(&self, count: usize) {
        self.0.subscribe().wait_for(|made| made.len() >= count).await.unwrap();
    }
}

impl Observer for Decisions {
    fn decided(&self, decided: &Decided<'_>) {
        let made = CallDecision {
            hook: decided.hook.to_owned(),
            uid: decided.request.uid.to_string(),
            decision: decided.decision,
        };
        self.0.send_modify(|all| all.push(made));
    }
}
