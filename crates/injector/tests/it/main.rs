//! Rules as a webhook: from files to an app, from a review to an answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod app;
mod config_map_watch;
mod fake_cluster;
mod fixture;
mod handler;
mod namespaces;
mod registration;
mod reload;
mod reload_during_create;
mod reporting;
mod rule_files;
mod watching;
