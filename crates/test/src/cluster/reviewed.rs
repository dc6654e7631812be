//! The reviews that hooks have decided.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;

use vestibule::Operation;
use vestibule::admission::Decision;
use vestibule::server::{Decided, Observer};

/// A review that a hook decided. Without `Debug`: it holds the object.
#[derive(Clone)]
#[non_exhaustive]
pub struct Reviewed {
    /// The hook's name.
    pub hook: String,
    /// The uid of the review, another one for every call.
    pub uid: String,
    /// The operation of the request.
    pub operation: Operation,
    /// The name of the user.
    pub user: String,
    /// The request's namespace.
    pub namespace: Option<String>,
    /// The name of the object, if it had one already.
    pub name: Option<String>,
    /// The subresource, if the request names one.
    pub subresource: Option<String>,
    /// Whether the request is a dry run.
    pub dry_run: bool,
    /// The object of the request; null on DELETE.
    pub object: Value,
    /// The stored object; null on CREATE and CONNECT.
    pub old_object: Value,
    /// The decision of the hook.
    pub decision: Decision,
}

/// Records the decisions of all replicas.
#[derive(Clone, Default)]
pub(super) struct Reviews(Arc<Mutex<Vec<Reviewed>>>);

impl Reviews {
    pub(super) fn of(&self, hook: &str) -> Vec<Reviewed> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|review| review.hook == hook).cloned().collect()
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Observer for Reviews {
    fn decided(&self, decided: &Decided<'_>) {
        let request = decided.request;
        let json = |raw: Option<&RawValue>| {
            raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
        };
        let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
        let review = Reviewed {
            hook: decided.hook.to_owned(),
            uid: request.uid.to_string(),
            operation: request.operation,
            user: request.user.username.to_string(),
            namespace: owned(&request.namespace),
            name: owned(&request.name),
            subresource: owned(&request.subresource),
            dry_run: request.dry_run,
            object: json(request.object),
            old_object: json(request.old_object),
            decision: decided.decision,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(review);
    }
}
