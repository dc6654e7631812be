//! The AdmissionReview conversation: envelope, verdict, handlers; no I/O, no clock.
//!
//! A body becomes a [`Review`]: the envelope is read, the object in it stays the bytes it came in. A [`Hook`] gives the
//! review's [`Request`] to its [`Handler`] and turns the [`Verdict`] into an [`Answer`]: the bytes and the HTTP status
//! that make kube-apiserver do what the handler meant.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use vestibule_admission::{Denial, Handler, HandlerFuture, Hook, Request, Review, Verdict};
//!
//! struct NoLatest;
//!
//! impl Handler for NoLatest {
//!     fn handle<'a>(&'a self, request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
//!         let latest = request.object.is_some_and(|object| object.get().contains(":latest"));
//!         Box::pin(async move {
//!             if latest { Denial::new("name a version").into() } else { Verdict::allowed() }
//!         })
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let body = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7f0b",
//!   "kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
//!   "operation":"CREATE","userInfo":{"username":"alice"},"object":{"spec":{"image":"nginx:latest"}}}}"#;
//! let review = Review::parse(body)?;
//! let hook = Hook::validating("no-latest", NoLatest);
//! let verdict = hook.decide(&review.request, Instant::now() + Duration::from_secs(5)).await;
//! let answer = hook.answer(&review, verdict);
//! assert_eq!(answer.status, 200);
//! assert!(String::from_utf8(answer.body)?.contains(r#""uid":"7f0b","allowed":false"#));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod audit;
mod check;
mod conversion;
mod denial;
mod fault;
#[cfg(test)]
mod fixture;
mod hook;
pub mod keys;
mod line;
mod notes;
mod operation;
mod review;
mod trace;
mod verdict;
mod warning;

pub use answer::{Answer, Decision};
pub use audit::AuditAnnotations;
pub use conversion::{
    ConversionFailure, ConversionHook, ConversionRequest, ConversionReview, ConversionReviewError,
    ConversionVersion, Converted, Converter, Unconvertible,
};
pub use denial::{Cause, Denial};
pub use fault::{Fault, FaultKind};
pub use hook::{Handler, HandlerFuture, Hook, HookKind, OnFault};
pub use notes::Notes;
pub use operation::Operation;
pub use review::{Kind, Request, Resource, Review, ReviewError, User, Version};
pub use trace::Trace;
pub use verdict::{Outcome, Verdict};
pub use warning::Warnings;
