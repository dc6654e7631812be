//! A webhook under fire. Certificates first: replicas behind one Service, API servers that call them under
//! `failurePolicy: Fail`, and leaves and CAs that change every few seconds. Not one call may fail.
//!
//! [`soak`] is the whole; `cargo xtask soak --help` runs it. [`reload`] does the same to the rules of the injector.
//! [`cases`] is everything else that the front door must survive, on loopback: `cargo xtask fire`.

mod case;
pub mod cases;
mod cluster;
mod fact;
pub mod hook;
mod judge;
mod ledger;
mod load;
mod options;
pub mod reload;
mod replica;
mod report;
pub mod rig;
mod rotation;
mod soak;
mod watch;

pub use cluster::{ACCOUNT, Cluster, grant};
pub use fact::Fact;
pub use ledger::{Book, Ledger, Seen};
pub use load::Load;
pub use options::{Case, Options, Order, Timing};
pub use replica::Replica;
pub use report::Report;
pub use rotation::{RingView, Rotations};
pub use soak::{Soak, soak};

/// The annotation on the Secret that asks for a new CA.
pub const ROTATE: &str = "vestibule.dev/rotate";

/// The annotation on the Secret that says that its keys were stolen.
pub const REVOKE: &str = "vestibule.dev/revoke";
