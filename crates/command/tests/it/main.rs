//! What a process does with its log and its signals, seen from outside of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod logs;
mod signals;
