//! The lookups and traces of an app, for its hooks.

use std::sync::Arc;

use crate::lookup::Lookups;
use crate::pipeline::span::CallTraces;

/// The lookups that every call can use, and the exporter of its traces. Cheap to clone; made when the app is bound.
#[derive(Clone, Default)]
pub struct Environment {
    pub(crate) lookups: Lookups,
    /// Calls continue their callers' traces in it.
    pub(crate) traces: Option<Arc<dyn CallTraces>>,
}

impl Environment {
    /// The lookups that are not filled yet, each with the reason. Hooks that need one of them answer 503.
    pub fn missing_lookups(&self) -> Vec<String> {
        self.lookups.missing()
    }
}
