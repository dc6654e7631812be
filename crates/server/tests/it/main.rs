#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod abuse;
mod age;
mod bodies;
mod client;
mod closing;
mod connection_limit;
mod conversions;
mod drain;
mod faults;
mod handlers;
mod harness;
mod overload;
mod pending_handshakes;
mod probes;
mod requests;
mod smuggling;
mod tls;
