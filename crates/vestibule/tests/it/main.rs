//! Apps on loopback without a cluster, called and checked as kube-apiserver would.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(feature = "cli")]
mod compile;
mod fake_cluster;
mod first_day;
mod identity;
#[cfg(feature = "test")]
mod kit;
mod logs;
mod lookups;
mod road;
mod served;
#[cfg(feature = "cli")]
mod signals;
mod watches;
mod work;
