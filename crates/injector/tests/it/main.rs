//! Rules as a webhook: from files to an app, from a review to an answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod app;
mod cluster;
mod config_maps;
mod handler;
mod namespaces;
mod one_create;
mod registration;
mod reload;
mod road;
mod seen;
mod sources;
mod watching;
