//! Computes the smallest list-aware JSON Patch between two documents, for a third document that may have members that the two do
//! not know.
//!
//! Nothing here knows Kubernetes: the keys of list items are passed in as a [`Schema`].
//!
//! [`diff_onto`] and [`diff`] compute a patch from texts; `vestibule` computes it from typed values, as [`Encoded`]. An
//! [`Edit`] records the operations that are applied to a [`Document`]; `rules` uses it. `admission` applies every patch once more
//! before it is sent. A [`Document`] keeps the bytes of unchanged values, and [`View`] reads them without parsing the rest.
//!
//! Start reading at `document.rs`, then `diff.rs`. The property tests in `tests/it` are the specification.

mod diff;
mod document;
mod encoded;
mod grammar;
mod index;
mod kind;
mod operation;
mod patch;
mod pointer;
mod schema;
mod string_scan;
mod text;
mod view;

#[doc(hidden)]
pub use diff::received_positions;
pub use diff::{DiffError, diff, diff_documents, diff_onto};
pub use document::{ApplyError, ApplyErrorKind, Document};
pub use encoded::Encoded;
pub use grammar::{DocumentError, MAX_DEPTH};
pub use index::Outline;
pub use kind::Kind;
pub use operation::{Operation, to_json};
pub use patch::{Edit, Mark, Patch};
pub use pointer::{Pointer, PointerError};
pub use schema::{Field, Key, List, Schema, Table, Type};
pub use view::View;
