//! Load, fault and abuse tests of real webhook processes. They are separate from `cargo xtask test`, because they
//! measure and take minutes.
//!
//! | Module | Command | Test |
//! |---|---|---|
//! | [`soak`](soak()) | `cargo xtask soak` | Leaves and CAs change every few seconds under `failurePolicy: Fail`; no call may fail. |
//! | [`reload`] | `cargo xtask reload` | The injector's rules change while pods are created. |
//! | [`cases`] | `cargo xtask fire` | Overload, hostile clients, roll-outs and killed replicas, on loopback. |
//! | `bin/watching` | `cargo xtask watching` | A real Prometheus: the dashboard has data, every alert fires, the pages about alerts help. |
//!
//! Start reading in [`cases`]; [`rig`] has the processes and clients that the cases share.

pub mod cases;
mod cluster;
mod counters;
mod full_cluster;
pub mod hook;
mod load;
mod options;
pub mod reload;
mod replica;
mod replica_event;
mod report;
pub mod rig;
mod ring_checks;
mod rotation;
mod soak;
mod watch;

pub use cluster::{ACCOUNT, Cluster, grant};
pub use counters::{Counters, Counts, ReplicaCounts};
pub use load::Load;
pub use options::{Case, Options, Order, Timing};
pub use replica::Replica;
pub use replica_event::ReplicaEvent;
pub use report::Report;
pub use rotation::{RingView, Rotations};
pub use soak::{Soak, soak};
pub use vestibule_identity::inspect::{REVOKE, ROTATE};
