//! The states and lookups of an app, for its handlers.

use std::sync::Arc;

use crate::handler::state::States;
use crate::lookup::Lookups;
use crate::pipeline::span::CallTraces;

/// The states and lookups that every call can use. Cheap to clone; made when the app is bound.
#[derive(Clone, Default)]
pub struct Environment(Arc<Inner>);

#[derive(Default)]
struct Inner {
    states: States,
    lookups: Lookups,
    traces: Option<Arc<dyn CallTraces>>,
}

impl Environment {
    pub(crate) fn new(states: States, lookups: Lookups) -> Self {
        Self(Arc::new(Inner { states, lookups, traces: None }))
    }

    /// Calls continue their callers' traces in `traces`.
    pub(crate) fn traced_by(self, traces: Option<Arc<dyn CallTraces>>) -> Self {
        let Inner { states, lookups, .. } = &*self.0;
        Self(Arc::new(Inner { states: states.clone(), lookups: lookups.clone(), traces }))
    }

    /// The lookups that are not filled yet, each with the reason. Hooks that need one of them answer 503.
    pub fn missing_lookups(&self) -> Vec<String> {
        self.0.lookups.missing()
    }

    pub(crate) fn lookups(&self) -> &Lookups {
        &self.0.lookups
    }

    pub(crate) fn traces(&self) -> Option<Arc<dyn CallTraces>> {
        self.0.traces.clone()
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.states
    }
}
