//! Warnings and audit annotations of one request, beside the verdict.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{AuditAnnotations, Verdict, Warnings};

/// Warnings and audit annotations of one call. They are kept with the request and not with the handler, so that they survive a
/// panic and a handler that is dropped at its deadline. Clones share the same notes.
///
/// They join the verdict when it is [checked](crate::Hook::check). A fault that is answered with HTTP 500 has none, since there
/// is no review to hold them.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    warnings: Warnings,
    audit: AuditAnnotations,
}

impl Notes {
    /// Adds a warning for the user; see [`Warnings::push`].
    pub fn warn(&self, warning: &str) {
        self.update(|contents| contents.warnings.push(warning));
    }

    /// Adds an annotation for the API server's audit log; see [`AuditAnnotations::insert`].
    pub fn audit(&self, key: &str, value: impl Into<String>) {
        self.update(|contents| contents.audit.insert(key, value));
    }

    /// Moves all notes into `verdict`, behind its own.
    pub(crate) fn join(&self, verdict: &mut Verdict) {
        let Contents { warnings, audit } = self.update(std::mem::take);
        warnings.iter().for_each(|warning| verdict.warnings.push(warning));
        audit.iter().for_each(|(key, value)| verdict.audit.insert(key, value));
    }

    fn update<R>(&self, change: impl FnOnce(&mut Contents) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
