//! Webhooks called by a real kube-apiserver, as a user of the cluster sees them.
//!
//! All tests share one API server. Each test has namespaces of its own, and its webhooks are called only for these. The API server
//! reaches webhooks by a Service, as in production. Start at `cluster.rs` (namespaces and requests) and `webhook.rs` (a served app).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chain;
mod client_authentication;
mod cluster;
mod corpus;
mod decisions;
mod deep;
mod env_injector;
mod events;
mod expressions;
mod failure;
mod fidelity;
mod field_checks;
mod generated;
mod gone;
mod html;
mod lookups;
mod managed;
mod manifests;
mod oracle;
mod registration;
mod reload;
mod rollout;
mod rules;
mod samples;
mod second_call;
mod stored;
mod streams;
mod versions;
mod webhook;
mod widget;
mod workload_updates;
