//! Apps on loopback without a cluster, called and checked as kube-apiserver would.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod background;
mod calls;
mod compile;
mod fake_cluster;
mod identity;
mod lookups;
mod served;
mod watches;
