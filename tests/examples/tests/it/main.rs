//! Each example, as a user of a cluster sees it.
//!
//! All tests share one API server. Each has a [`Cluster`](vestibule_test::Cluster) of its own, on which the example's own
//! manifests are installed, and called for objects of its namespaces only.

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
