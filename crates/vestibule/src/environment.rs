//! What the app gives every call beside its request.

use std::sync::Arc;

use crate::state::States;

/// What the app gives every call beside its request. Cheap to clone; made when the app is bound.
#[derive(Clone, Default)]
pub(crate) struct Environment(Arc<Inner>);

#[derive(Default)]
struct Inner {
    states: States,
}

impl Environment {
    pub(crate) fn new(states: States) -> Self {
        Self(Arc::new(Inner { states }))
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.states
    }
}
