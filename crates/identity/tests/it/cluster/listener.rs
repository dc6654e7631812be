//! An observer that remembers.

use std::sync::{Arc, Mutex};

use vestibule_identity::{IdentityEvent, Observer};

#[derive(Default)]
pub(crate) struct Listener(Mutex<Vec<IdentityEvent>>);

impl Listener {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn heard(&self) -> Vec<IdentityEvent> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn changes(&self) -> Vec<&'static str> {
        let change = |event: &IdentityEvent| match event {
            IdentityEvent::RingWritten { change } => Some(*change),
            _ => None,
        };
        self.0.lock().unwrap().iter().filter_map(change).collect()
    }
}

impl Observer for Listener {
    fn happened(&self, event: &IdentityEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}
