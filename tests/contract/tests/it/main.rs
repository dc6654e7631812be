//! The contract of a webhook with kube-apiserver, tested on a real process over TLS.
//!
//! The table is docs/reference/contract.md; a test `row_N_...` belongs to row N. Start at `process.rs`, the process under test, and
//! `client.rs`, its client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod collector;
mod conversations;
mod conversions;
mod denials;
mod event_reasons;
mod faults;
mod leaks;
mod leaving;
mod levels;
mod loads;
mod names;
mod patches;
mod process;
mod readiness;
mod requests;
mod reviews;
mod table;
mod traces;
