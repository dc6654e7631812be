//! Tests of the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod documents;
mod edits;
mod hostile;
mod laws;
mod lists;
mod lossless;
mod operations;
mod pointers;
mod sample;
mod scale;
mod three_way;
mod views;
