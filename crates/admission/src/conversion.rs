//! The other conversation: objects of a custom resource, asked for in another of its versions.
//!
//! A body becomes a [`ConversionReview`]; a [`ConversionHook`] brings its objects through a [`Converter`], one by one,
//! and turns the outcome into an [`Answer`]. There is no failure policy here: whatever goes wrong is an answer that says
//! `Failure`, and its message reaches the user (docs/apiserver.md, Conversion).
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

mod kept;
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

use crate::line::one_line;
use crate::{Answer, Fault, FaultKind};
pub use review::{ConversionRequest, ConversionReview, ConversionReviewError, ConversionVersion};

/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 1024;

/// Brings one object into another version.
///
/// It is asked only for objects that are in another version than the desired one. What it gives back is in the desired
/// version, and holds the metadata it was given: name, namespace and uid are compared, labels and annotations may
/// differ, and whatever else differs is put back, as the API server itself would.
pub trait Converter: Send + Sync + 'static {
    /// The object in the version `desired`, which is an `apiVersion`: `example.com/v2`.
    ///
    /// # Errors
    /// The object cannot be brought into that version, and why, in words that the user will read.
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

/// Why an object is not convertible: one line for the user, without the object's name, which is added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unconvertible(String);

impl Unconvertible {
    /// Of `why`, the first 1024 characters are kept, on one line.
    pub fn new(why: impl fmt::Display) -> Self {
        Self(one_line(&why.to_string(), LONGEST_MESSAGE))
    }
}

/// A converter under a name.
#[derive(Clone)]
pub struct ConversionHook {
    name: String,
    converter: Arc<dyn Converter>,
}

/// What became of a review: its objects in the desired version, as many and in the same order, or the failure of all.
pub type Converted<'a> = Result<Vec<Cow<'a, RawValue>>, ConversionFailure>;

/// Why no object of a review was converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversionFailure {
    /// Which object it was, and what is wrong with it; the user reads it.
    pub message: String,
    /// What accident it was, unless an object is simply not convertible.
    pub fault: Option<FaultKind>,
}

impl ConversionHook {
    /// A converter under the name that logs and metrics know it by.
    pub fn new(name: impl Into<String>, converter: impl Converter) -> Self {
        Self { name: name.into(), converter: Arc::new(converter) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Converts one object after the other and lets others run in between: a review may hold thousands. The first one
    /// that cannot be converted ends it, because the answer has room for no more than one reason.
    ///
    /// # Errors
    /// An object is not convertible, its converter panicked, or gave back another object.
    pub async fn convert<'a>(&self, request: &ConversionRequest<'a>) -> Converted<'a> {
        let mut converted = Vec::with_capacity(request.objects.len());
        for (index, object) in request.objects.iter().enumerate() {
            if index > 0 {
                others_first().await;
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
            let (object, desired) = (kept::display_name(received, index), one_line(desired, 256));
            let message = one_line(&format!("{object} to {desired}: {why}"), LONGEST_MESSAGE);
            ConversionFailure { message, fault }
        };
        // As with handlers, what a converter shares and leaves behind when it panics is its author's to decide.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.converter.convert(object, desired)));
        let outcome = outcome.map_err(|_| failed(Some(FaultKind::Panic), &"the converter panicked"))?;
        let converted = outcome.map_err(|why| failed(None, &why))?;
        let kept = kept::whole(received, View::of(&converted), desired);
        kept.map(Cow::Owned).map_err(|why| failed(Some(FaultKind::Error), &why))
    }

    /// The outcome when there was none within `budget`, of the `timeout` that kube-apiserver waits for the answer.
    pub fn out_of_time(&self, budget: Duration, timeout: Duration) -> ConversionFailure {
        let what = format_args!("conversion {} was not done", self.name);
        let Fault { kind, message, .. } = Fault::timeout(what, budget, timeout);
        ConversionFailure { message, fault: Some(kind) }
    }

    /// What kube-apiserver must receive.
    pub fn answer(&self, review: &ConversionReview<'_>, converted: &Converted<'_>) -> Answer {
        response::answer(review, converted)
    }
}

/// Ready when it is asked for the second time.
async fn others_first() {
    let mut asked = false;
    poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
