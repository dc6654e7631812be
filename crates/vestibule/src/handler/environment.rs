//! The states and lookups of an app, for its handlers.

use std::sync::Arc;

use crate::handler::state::States;
use crate::lookup::Lookups;

/// The states and lookups that every call can use. Cheap to clone; made when the app is bound.
#[derive(Clone, Default)]
pub(crate) struct Environment(Arc<Inner>);

#[derive(Default)]
struct Inner {
    states: States,
    lookups: Lookups,
}

impl Environment {
    pub(crate) fn new(states: States, lookups: Lookups) -> Self {
        Self(Arc::new(Inner { states, lookups }))
    }

    pub(crate) fn lookups(&self) -> &Lookups {
        &self.0.lookups
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.states
    }
}
