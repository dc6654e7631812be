//! What a webhook decided, call by call.

use std::sync::{Arc, Mutex};

use vestibule_admission::Decision;
use vestibule_server::{Decided, Observer};

/// Keeps the decisions of a webhook, of all its replicas.
#[derive(Clone, Default)]
pub(crate) struct Decisions(Arc<Mutex<Vec<Made>>>);

/// One decision about one call.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) hook: String,
    pub(crate) uid: String,
    pub(crate) decision: Decision,
}

impl Decisions {
    /// All calls so far, in order.
    pub(crate) fn made(&self) -> Vec<Made> {
        self.0.lock().unwrap().clone()
    }

    /// What was decided since the last time.
    pub(crate) fn take(&self) -> Vec<Decision> {
        let made = std::mem::take(&mut *self.0.lock().unwrap());
        made.into_iter().map(|made| made.decision).collect()
    }
}

impl Observer for Decisions {
    fn decided(&self, decided: &Decided<'_>) {
        let made = Made {
            hook: decided.hook.to_owned(),
            uid: decided.request.uid.to_string(),
            decision: decided.decision,
        };
        self.0.lock().unwrap().push(made);
    }
}
