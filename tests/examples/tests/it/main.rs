//! Each example, as a user of a cluster meets it.
//!
//! All tests share one API server. Each has a [`Cluster`](cluster::Cluster) of its own: namespaces, and an example's
//! app, served behind a Service and called for objects of these namespaces only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agnhost;
mod cluster;
mod compared;
mod conversion;
mod dependencies;
mod env_injector;
mod etcd_operator;
mod reserved_namespaces;
mod size;
mod storage_class;
mod topolvm;
