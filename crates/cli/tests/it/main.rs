//! The binary as users meet it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod api;
mod bounded;
mod certs;
mod certs_cluster;
mod certs_flags;
mod cluster;
mod collector;
mod deploy;
mod examples;
mod explain;
mod explain_cluster;
mod fixture;
mod golden;
mod how_to;
mod identity_self;
mod image;
mod inject;
mod kubeconfig;
mod leaks;
mod manifests;
mod messages;
mod names;
mod new;
mod pages;
mod quota;
mod rule_objects;
mod rule_sources;
mod serve;
mod served;
mod skew;
mod terminal;
mod try_formats;
mod try_rules;
mod version;
mod wait;
