//! Denials and faults of handlers.

use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::error::Error;

use vestibule_admission::{Cause, Denial, Fault, FaultKind, Outcome, Verdict};

use crate::lookup::error::LookupError;

/// The error of a handler: a denial, made by [`deny`], or a fault, made by `?` from any error.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::{Change, Context, Reject, deny};
///
/// async fn guard(change: Change<Pod>, _: Context) -> Result<(), Reject> {
///     let annotations = change.object().and_then(|pod| pod.metadata.annotations.as_ref());
///     let limit: u32 = match annotations.and_then(|annotations| annotations.get("example.com/limit")) {
///         // A fault: `failurePolicy` decides.
///         Some(limit) => limit.parse()?,
///         // A denial: `failurePolicy` does not matter.
///         None => return Err(deny("a pod names its limit").field("metadata.annotations", "add example.com/limit")),
///     };
///     if limit > 10 { Err(deny("too much").invalid()) } else { Ok(()) }
/// }
/// ```
///
/// `?` turns every error into a fault, `anyhow::Error` too. It does not turn a `Box<dyn Error>`:
/// `.map_err(Reject::fault)?` does.
pub struct Reject(Outcome);

/// Denies the request with 403 Forbidden; the user reads `message`.
///
/// ```
/// # use vestibule::{deny, Reject};
/// fn check(replicas: i32) -> Result<(), Reject> {
///     if replicas > 10 {
///         return Err(deny("too many replicas").invalid().field("spec.replicas", "at most 10"));
///     }
///     Ok(())
/// }
/// assert!(check(11).is_err());
/// ```
pub fn deny(message: impl Into<String>) -> Reject {
    Reject(Outcome::Denied(Denial::new(message)))
}

/// Denies the request with 429 Too Many Requests; clients that respect `Retry-After` try again after `seconds`.
///
/// ```
/// use vestibule::{Reject, too_many_requests};
///
/// fn check(quota_is_known: bool) -> Result<(), Reject> {
///     if quota_is_known { Ok(()) } else { Err(too_many_requests(5, "the quota is being counted")) }
/// }
/// assert!(check(false).is_err());
/// ```
pub fn too_many_requests(seconds: u32, why: impl Into<String>) -> Reject {
    let mut denial = Denial::new(why).code(429).reason("TooManyRequests");
    denial.retry_after_seconds = Some(seconds);
    Reject(Outcome::Denied(denial))
}

impl Reject {
    /// Adds a field and its error. kubectl prints the fields of a denial that is [`invalid`](Self::invalid), and of every other one the
    /// message only. Events of controllers, such as a ReplicaSet's, have the message only. A fault is not changed.
    #[must_use]
    pub fn field(self, field: impl Into<String>, message: impl Into<String>) -> Self {
        self.map(|denial| denial.field(field, message))
    }

    /// Sets another HTTP status than 403, from 400 to 599. A fault is not changed.
    #[must_use]
    pub fn code(self, code: u16) -> Self {
        self.map(|denial| denial.code(code))
    }

    /// Sets another reason than `Forbidden`. A fault is not changed.
    #[must_use]
    pub fn reason(self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.map(|denial| denial.reason(reason))
    }

    /// Sets 422 and the reason `Invalid`, as the API server's own validation does for an invalid object. If there are fields, kubectl
    /// prints them in place of the message. A fault is not changed.
    #[must_use]
    pub fn invalid(self) -> Self {
        self.code(422).reason("Invalid")
    }

    /// Adds a field with its error and a machine-readable reason other than `FieldValueInvalid`: `FieldValueRequired`,
    /// `FieldValueDuplicate` and so on. A fault is not changed.
    ///
    /// ```
    /// use vestibule::{Cause, deny};
    ///
    /// let cause = Cause {
    ///     reason: "FieldValueRequired".into(),
    ///     field: "spec.size".to_owned(),
    ///     message: "say how large".to_owned(),
    /// };
    /// let denial = deny("something is missing").invalid().cause(cause);
    /// ```
    #[must_use]
    pub fn cause(self, cause: Cause) -> Self {
        self.map(|mut denial| {
            denial.causes.push(cause);
            denial
        })
    }

    /// Answers 503 with `Retry-After`, which makes kube-apiserver call again within its timeout. `missing` says in a few words
    /// for what the handler waits.
    pub fn not_ready(missing: impl Into<String>) -> Self {
        Self(Outcome::NotReady(missing.into()))
    }

    /// A fault with this message, where `?` cannot make one.
    ///
    /// ```
    /// use vestibule::Reject;
    ///
    /// fn ask() -> Result<u8, Box<dyn std::error::Error>> {
    ///     Ok("7".parse()?)
    /// }
    ///
    /// let answer: Result<u8, Reject> = ask().map_err(Reject::fault);
    /// assert!(answer.is_ok());
    /// ```
    pub fn fault(message: impl std::fmt::Display) -> Self {
        Self(Outcome::Fault(Fault::new(FaultKind::Error, message)))
    }

    pub(crate) fn from_fault(fault: Fault) -> Self {
        Self(Outcome::Fault(fault))
    }

    fn map(self, change: impl FnOnce(Denial) -> Denial) -> Self {
        match self.0 {
            Outcome::Denied(denial) => Self(Outcome::Denied(change(denial))),
            other => Self(other),
        }
    }
}

/// A fault, unless a cause of the error is a lookup without an answer yet
/// ([`LookupError::NotSynced`](crate::LookupError::NotSynced)): then the response makes the API server retry.
impl<E: Into<anyhow::Error> + 'static> From<E> for Reject {
    fn from(error: E) -> Self {
        let error = error.into();
        if let Some(missing) = error.chain().find_map(not_synced) {
            return Self::not_ready(missing);
        }
        // Most errors write their causes into their own text. An `anyhow::Error` writes its outermost context alone.
        let is_anyhow = TypeId::of::<E>() == TypeId::of::<anyhow::Error>();
        let text = if is_anyhow { format!("{error:#}") } else { error.to_string() };
        let mut fault = Fault::new(FaultKind::Error, without_values(text, &error));
        fault.error = Some(type_name::<E>());
        Self(Outcome::Fault(fault))
    }
}

fn not_synced(cause: &(dyn Error + 'static)) -> Option<String> {
    let lookup = cause.downcast_ref::<LookupError>();
    lookup.filter(|error| matches!(error, LookupError::NotSynced { .. })).map(ToString::to_string)
}

/// The text of an error without the texts of `serde_json` in it: they quote the object, and the text of a fault ends in the API
/// server's log.
fn without_values(mut text: String, error: &anyhow::Error) -> String {
    for json in error.chain().filter_map(|cause| cause.downcast_ref::<serde_json::Error>()) {
        let place = format!("JSON that does not fit: line {} column {}", json.line(), json.column());
        text = text.replace(&json.to_string(), &place);
    }
    text
}

impl From<Reject> for Outcome {
    fn from(reject: Reject) -> Self {
        reject.0
    }
}

impl From<Reject> for Verdict {
    fn from(reject: Reject) -> Self {
        Outcome::from(reject).into()
    }
}

/// For `unwrap` in tests: denied, faulty or not ready, and the text.
impl std::fmt::Debug for Reject {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, text) = match &self.0 {
            Outcome::Denied(denial) => ("Denied", &denial.message),
            Outcome::Fault(fault) => ("Fault", &fault.message),
            Outcome::NotReady(missing) => ("NotReady", missing),
            Outcome::Allowed | Outcome::Mutated(_) => return formatter.write_str("Reject"),
        };
        formatter.debug_tuple(kind).field(text).finish()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the answer is wrong: {0}")]
    struct Answer(#[source] serde_json::Error);

    #[test]
    fn values_that_serde_json_quotes_are_not_repeated() {
        let error = || serde_json::from_str::<u8>(r#""hunter2""#).unwrap_err();
        let words = |reject: Reject| format!("{reject:?}");
        assert!(error().to_string().contains("hunter2"));
        assert_eq!(words(error().into()), r#"Fault("JSON that does not fit: line 1 column 9")"#);
        let wrapped = words(Answer(error()).into());
        assert_eq!(wrapped, r#"Fault("the answer is wrong: JSON that does not fit: line 1 column 9")"#);
        assert_eq!(words(anyhow::Error::from(error()).into()), words(error().into()));
        let context = words(anyhow::Error::from(Answer(error())).context("no limit").into());
        assert!(context.starts_with(r#"Fault("no limit: the answer is wrong: JSON"#), "{context}");
        assert!(!context.contains("hunter2"), "{context}");
    }

    #[test]
    fn a_question_mark_turns_an_anyhow_error_into_a_fault_with_all_its_causes() {
        fn parse(text: &str) -> anyhow::Result<u8> {
            text.parse().context("the limit is no number")
        }
        fn handle() -> Result<u8, Reject> {
            Ok(parse("many")?)
        }
        let Reject(Outcome::Fault(fault)) = handle().unwrap_err() else { panic!("no fault") };
        assert_eq!(fault.message, "the limit is no number: invalid digit found in string");
        assert_eq!(fault.error, Some("anyhow::Error"));
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the claim cannot be read")]
    struct Claim(#[source] LookupError);

    #[test]
    fn a_nested_lookup_error_of_an_unsynced_watch_is_not_ready() {
        let not_synced = || LookupError::NotSynced { missing: "the first list of Pod".to_owned() };
        let expected = r#"NotReady("waiting for the first list of Pod")"#;
        for reject in [
            Reject::from(not_synced()),
            Reject::from(Claim(not_synced())),
            Reject::from(anyhow::Error::from(Claim(not_synced())).context("no claim")),
        ] {
            assert_eq!(format!("{reject:?}"), expected);
        }
        let missing = LookupError::NotWatched { kind: "Pod".to_owned() };
        assert!(format!("{:?}", Reject::from(Claim(missing))).starts_with("Fault"));
    }
}
