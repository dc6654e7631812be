//! The log and the signals of a process, tested from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod logs;
mod signals;
