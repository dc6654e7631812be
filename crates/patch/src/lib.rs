//! The smallest list-aware JSON Patch between two documents, laid on a third without losing what it does not know.
//!
//! Nothing here knows Kubernetes: which lists are keyed, and by what, is handed in as a [`Schema`].

mod operation;
mod pointer;
mod schema;

pub use operation::Operation;
pub use pointer::{Pointer, PointerError};
pub use schema::{Field, Key, List, Schema, Table, Type};
