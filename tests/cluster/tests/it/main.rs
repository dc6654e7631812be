//! What a user of a cluster sees of our webhooks, asked of a real kube-apiserver.
//!
//! All tests share one API server. Each has namespaces of its own, and its webhooks are called for nothing else; they
//! are always reached by a Service: SNI, HTTP/1.1 and all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chain;
mod cluster;
mod corpus;
mod decisions;
mod deep;
mod env_injector;
mod events;
mod expressions;
mod failure;
mod fidelity;
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
mod streams;
mod webhook;
mod who_is_calling;
mod widget;
