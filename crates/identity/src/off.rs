//! The identity of an operator without webhooks.

use std::sync::Arc;

use crate::{Identity, Leaf, Status};

/// For an operator whose webhooks are switched off: no certificate, no Secret, no rights, and always ready.
///
/// ```
/// use vestibule_identity::{Identity, Off};
///
/// assert!(Off.present().is_none());
/// assert_eq!(Off.status().waiting_for, None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Identity for Off {
    fn present(&self) -> Option<Arc<Leaf>> {
        None
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        None
    }

    fn status(&self) -> Status {
        Status::default()
    }
}
