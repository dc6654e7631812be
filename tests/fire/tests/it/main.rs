#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod commands;
mod faults;
mod fixture;
mod replicas;
mod tools;
mod trust;
