//! The conversion of custom resources: objects of one resource are converted into another of its versions.
//!
//! A body is parsed into a [`ConversionReview`]. A [`ConversionHook`] passes its objects to a [`Converter`], one by one, and
//! turns the result into an [`Answer`]. Conversions have no failure policy: every error is an answer with the status `Failure`,
//! and its message reaches the user (docs/apiserver.md, Conversion).
//!
//! ```
//! use serde_json::value::RawValue;
//! use vestibule_admission::{ConversionHook, ConversionReview, Unconvertible};
//!
//! let renamed = |object: &RawValue, desired: &str| {
//!     let mut object: serde_json::Value =
//!         serde_json::from_str(object.get()).map_err(|_| Unconvertible::new("it is no object"))?;
//!     object["apiVersion"] = desired.into();
//!     serde_json::value::to_raw_value(&object).map_err(Unconvertible::new)
//! };
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let body = br#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"7f0b",
//!   "desiredAPIVersion":"example.com/v2","objects":[{"apiVersion":"example.com/v1","kind":"Widget",
//!   "metadata":{"name":"a","namespace":"shop"}}]}}"#;
//! let review = ConversionReview::parse(body)?;
//! let hook = ConversionHook::new("widgets", renamed);
//! let answer = hook.answer(&review, &hook.convert(&review.request).await);
//! assert!(String::from_utf8(answer.body)?.contains(r#""apiVersion":"example.com/v2""#));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod metadata;
mod response;
mod review;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::value::RawValue;
use vestibule_patch::View;

use crate::one_line::one_line;
use crate::{Answer, Fault, FaultKind};
pub use review::{ConversionRequest, ConversionReview};

/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 1024;

/// Converts one object into another version.
///
/// It is called only for objects in another version than the desired one. The result must be in the desired version and keep the
/// metadata: a changed name, namespace or uid is an error, labels and annotations may change, and every other change is undone,
/// as the API server itself does.
pub trait Converter: Send + Sync + 'static {
    /// Converts the object into the version `desired`, which is an `apiVersion` such as `example.com/v2`.
    ///
    /// # Errors
    /// The object cannot be converted, with a reason for the user.
    fn convert(&self, object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible>;
}

impl<F> Converter for F
where
    F: Fn(&RawValue, &str) -> Result<Box<RawValue>, Unconvertible> + Send + Sync + 'static,
{
    fn convert(&self, object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
        self(object, desired)
    }
}

/// Why an object cannot be converted: one line for the user, without the object's name, which is added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unconvertible(String);

impl Unconvertible {
    /// Keeps the first 1024 characters of `why`, on one line.
    pub fn new(why: impl fmt::Display) -> Self {
        Self(one_line(&why.to_string(), LONGEST_MESSAGE))
    }
}

/// A converter with its name.
#[derive(Clone)]
pub struct ConversionHook {
    name: String,
    converter: Arc<dyn Converter>,
}

/// The result of a review: all objects in the desired version, in their order, or the failure.
pub type Converted<'a> = Result<Vec<Cow<'a, RawValue>>, ConversionFailure>;

/// Why no object of a review was converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversionFailure {
    /// The object and the reason, for the user.
    pub message: String,
    /// The kind of fault; [`None`] if the object cannot be converted.
    pub fault: Option<FaultKind>,
}

impl ConversionHook {
    /// A hook with the name that logs and metrics use.
    pub fn new(name: impl Into<String>, converter: impl Converter) -> Self {
        Self { name: name.into(), converter: Arc::new(converter) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Converts one object after the other, and lets other tasks run in between: a review may hold thousands. The first object
    /// that cannot be converted ends it, since the answer has one reason only.
    ///
    /// # Errors
    /// An object cannot be converted, or its converter panicked or returned another object.
    pub async fn convert<'a>(&self, request: &ConversionRequest<'a>) -> Converted<'a> {
        let mut converted = Vec::with_capacity(request.objects.len());
        for (index, object) in request.objects.iter().enumerate() {
            if index > 0 {
                yield_once().await;
            }
            converted.push(self.one(index, object, &request.desired_api_version)?);
        }
        Ok(converted)
    }

    fn one<'a>(
        &self,
        index: usize,
        object: &'a RawValue,
        desired: &str,
    ) -> Result<Cow<'a, RawValue>, ConversionFailure> {
        let received = View::of(object);
        let api_version = received.get("apiVersion").and_then(View::as_str);
        if api_version.as_deref() == Some(desired) {
            return Ok(Cow::Borrowed(object));
        }
        let failed = |fault, why: &dyn fmt::Display| {
            let (object, desired) = (metadata::display_name(received, index), one_line(desired, 256));
            let message = one_line(&format!("{object} to {desired}: {why}"), LONGEST_MESSAGE);
            ConversionFailure { message, fault }
        };
        // The state that a converter shares between requests after a panic is its author's concern, as with handlers.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.converter.convert(object, desired)));
        let outcome = outcome.map_err(|_| failed(Some(FaultKind::Panic), &"the converter panicked"))?;
        let converted = outcome.map_err(|why| failed(None, &why))?;
        let restored = metadata::restore(received, View::of(&converted), desired);
        restored.map(Cow::Owned).map_err(|why| failed(Some(FaultKind::Error), &why))
    }

    /// The result of a conversion that was not done within `budget`, of the `timeout` that kube-apiserver waits.
    pub fn out_of_time(&self, budget: Duration, timeout: Duration) -> ConversionFailure {
        let what = format_args!("conversion {} was not done", self.name);
        let Fault { kind, message, .. } = Fault::timeout(what, budget, timeout);
        ConversionFailure { message, fault: Some(kind) }
    }

    /// The answer for kube-apiserver.
    pub fn answer(&self, review: &ConversionReview<'_>, converted: &Converted<'_>) -> Answer {
        response::answer(review, converted)
    }
}

/// A future that is ready when it is polled for the second time.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
