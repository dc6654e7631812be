//! An observer that remembers.

use std::sync::{Arc, Mutex};

use vestibule_identity::{Happening, Observer};

#[derive(Default)]
pub(crate) struct Listener(Mutex<Vec<Happening>>);

impl Listener {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn heard(&self) -> Vec<Happening> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn changes(&self) -> Vec<&'static str> {
        let change = |happening: &Happening| match happening {
            Happening::RingWritten { change } => Some(*change),
            _ => None,
        };
        self.0.lock().unwrap().iter().filter_map(change).collect()
    }
}

impl Observer for Listener {
    fn happened(&self, happening: &Happening) {
        self.0.lock().unwrap().push(happening.clone());
    }
}
