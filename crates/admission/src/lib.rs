//! The AdmissionReview conversation: envelope, verdict, handlers. It has no I/O and no clock.
//!
//! A body is parsed into a [`Review`], whose object stays the bytes of the body. A [`Hook`] gives the review's [`Request`] to its
//! [`Handler`] and turns the [`Verdict`] into an [`Answer`]: the HTTP status and bytes with which kube-apiserver does what the
//! handler decided. Conversions of custom resources go the same way ([`ConversionReview`], [`ConversionHook`]).
//!
//! `server` calls it for every request; the crates `vestibule` and `injector` implement [`Handler`]. Start reading at `hook.rs`,
//! then `check.rs` (the patch is applied before it is sent) and `answer.rs`. `keys.rs` has the list keys of the built-in kinds.
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
mod hook_kind;
pub mod keys;
mod notes;
mod one_line;
mod operation;
mod raw_value;
mod review;
mod trace;
mod verdict;
mod warning;

pub use answer::{Answer, Decision};
pub use audit::AuditAnnotations;
pub use conversion::{
    ConversionFailure, ConversionHook, ConversionRequest, ConversionReview, Converted, Converter,
    Unconvertible,
};
pub use denial::{Cause, Denial};
pub use fault::{Fault, FaultKind, OnFault};
pub use hook::{Handler, HandlerFuture, Hook};
pub use hook_kind::HookKind;
pub use notes::Notes;
pub use operation::Operation;
pub use review::{Kind, Request, Resource, Review, ReviewError, ReviewKind, User, Version};
pub use trace::Trace;
pub use verdict::{Outcome, Verdict};
pub use warning::Warnings;
