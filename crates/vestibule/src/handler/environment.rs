//! What the app gives every call beside its request.

use std::sync::Arc;

use crate::handler::state::States;
use crate::lookup::Lookups;

/// What the app gives every call beside its request. Cheap to clone; made when the app is bound.
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
