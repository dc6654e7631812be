//! Injection rules: documents and a pod in; decision, operations and explanation out; no I/O.

pub mod diagnostic;
mod near;
pub mod yaml;

pub use diagnostic::{CODES, Code, Diagnostic, Position, Severity};
