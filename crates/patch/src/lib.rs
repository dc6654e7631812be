//! Computes the smallest list-aware JSON Patch between two documents, for a third document that may have members that the two do
//! not know.
//!
//! Nothing here knows Kubernetes: the keys of list items are passed in as a [`Schema`].
//!
//! [`lay`] and [`diff`] compute a patch from texts; `vestibule` uses them for typed handlers. An [`Edit`] records the operations
//! that are applied to a [`Document`]; `rules` uses it. `admission` applies every patch once more before it is sent. A
//! [`Document`] keeps the bytes of unchanged values, and [`View`] reads them without parsing the rest.
//!
//! Start reading at `document.rs`, then `lay.rs`. The property tests in `tests/it` are the specification.

mod document;
mod grammar;
mod index;
mod lay;
mod operation;
mod patch;
mod pointer;
mod schema;
mod string_scan;
mod text;
mod view;

pub use document::{ApplyError, ApplyErrorKind, Document};
pub use grammar::{DocumentError, MAX_DEPTH};
pub use index::Outline;
pub use lay::{LayError, diff, lay};
pub use operation::{Operation, to_json};
pub use patch::{Edit, Mark, Patch};
pub use pointer::{Pointer, PointerError};
pub use schema::{Field, Key, List, Schema, Table, Type};
pub use view::{Kind, View};
