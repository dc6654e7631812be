//! The stages of a call between the server and the author's function, in this order:
//!
//! 1. [`span`] opens a span: lines that are logged during the call name its hook and uid.
//! 2. [`finalizers`] allows an UPDATE that only clears an object which is being deleted, for hooks that skip such updates.
//! 3. [`typed`] matches the request against the rules of the registration.
//! 4. [`typed`] makes the [`Context`](crate::Context) and decodes the object.
//! 5. The author's function, a [`Mutate`](crate::Mutate) or [`Validate`](crate::Validate), gives its verdict.
//! 6. [`typed_patch`](crate::handler::typed_patch) applies the difference between the decoded and the returned object to the
//!    object received, as a patch.
//!
//! A raw handler takes the place of the stages 3 to 6. [`Hook`] calls the first stage; it catches panics, applies the patch once
//! more and writes the answer.

pub(crate) mod environment;
pub(crate) mod finalizers;
pub(crate) mod span;
#[cfg(test)]
mod tests;
pub(crate) mod typed;

use std::sync::Arc;

use vestibule_admission::{Handler, Hook, HookKind};

use finalizers::SkipFinalizerUpdates;
use span::{CallTraces, Traced};

/// The hook `name`: `handler`, typed or raw, behind the first two stages.
pub(crate) fn hook(
    name: &str,
    kind: HookKind,
    skip_finalizer_updates: bool,
    handler: Arc<dyn Handler>,
    traces: Option<Arc<dyn CallTraces>>,
) -> Hook {
    let handler: Arc<dyn Handler> =
        if skip_finalizer_updates { Arc::new(SkipFinalizerUpdates(handler)) } else { handler };
    let handler = Traced::new(name, handler, traces);
    match kind {
        HookKind::Mutating => Hook::mutating(name, handler),
        HookKind::Validating => Hook::validating(name, handler),
    }
}
