//! The smallest list-aware JSON Patch between two documents, laid on a third without losing what it does not know.
//!
//! Nothing here knows Kubernetes: which lists are keyed, and by what, is handed in as a [`Schema`].

mod document;
mod grammar;
mod index;
mod lay;
mod operation;
mod patch;
mod pointer;
mod schema;
mod stops;
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
