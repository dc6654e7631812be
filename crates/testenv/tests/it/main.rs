//! Tests of the environment on a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod audit;
mod child;
mod clock;
mod environment;
mod install;
mod killed;
mod lag;
mod objects;
mod proxy;
mod reference;
mod second;
mod service;
mod session;
