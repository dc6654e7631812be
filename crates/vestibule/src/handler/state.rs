//! Values that handlers share, one of each type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::sync::Arc;

/// The app has no state of the type that a handler asked for. `?` makes a fault of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the app has no state of type `{of}`: give it one with `App::state`")]
#[non_exhaustive]
pub struct MissingState {
    /// The type's name.
    pub of: &'static str,
}

/// One value for each type.
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    /// Returns `false` if there is a value of the type already.
    pub(crate) fn insert<S: Send + Sync + 'static>(&mut self, state: S) -> bool {
        self.0.insert(TypeId::of::<S>(), Arc::new(state)).is_none()
    }

    pub(crate) fn get<S: Send + Sync + 'static>(&self) -> Result<&S, MissingState> {
        let state = self.0.get(&TypeId::of::<S>()).and_then(|state| state.downcast_ref());
        state.ok_or(MissingState { of: type_name::<S>() })
    }
}
