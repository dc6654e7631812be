//! The CA ring's protocol under a model checker.
//!
//! A [`Scenario`] is a small cluster: replicas that run the very [`vestibule_pki::ring::step`], a Secret, configurations,
//! API servers that see these late, and a number of [`Faults`]. The checker walks every order of [`Event`]s and looks in
//! every [`World`] at the [`INVARIANTS`].
//!
//! - [`catalogue`] holds the clusters, and what is switched off in which of them: start there.
//! - A replica's reading, deciding and writing are events of their own, so that others come in between. Time passes only
//!   when every replica in reach has nothing to do: replicas are quick, or cut off.
//! - A rule is off by the policy's own switch; a [`Guard`] within a rule by a replica that does not do quite what `step`
//!   says. Either way [`search`] must find a shortest way to damage.
//! - Liveness is an invariant: from this state on, without further faults, all is well in the end.
//!
//! # How to read a trace
//!
//! `cargo xtask model --traces` tells each counterexample in words, one event a line. `means to` write or publish is an
//! attempt: when somebody else wrote in between, the replica only reads what is there now. CA 1 signs and CA 2 is next
//! when a settled scenario begins, new ones count on from 3; 901 and 902 are of a ring of long ago. The last line is the
//! event after which the invariant does not hold.

mod act;
pub mod catalogue;
mod event;
mod fault;
mod mutation;
mod property;
pub mod report;
mod scenario;
mod trace;
mod walk;
mod world;

pub use event::Event;
pub use fault::{Fault, Faults};
pub use mutation::{Guard, Mutation};
pub use property::{INVARIANTS, Invariant, Shown};
pub use scenario::{FIRST_ACTIVE, Scenario, Start};
pub use walk::{Counterexample, Walk, search, walk, walk_for};
pub use world::{Names, Object, Published, Replica, World};
