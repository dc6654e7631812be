//! Checks the CA ring's protocol with a model checker.
//!
//! A [`Scenario`] is a small cluster: replicas that call the production function [`vestibule_pki::ring::step`], a Secret,
//! configurations, API servers that see configurations late, and a number of [`Faults`]. The checker walks every order of
//! [`Event`]s and checks the [`INVARIANTS`] in every [`World`]. `cargo xtask model` runs it and writes
//! `docs/explanation/model.md`.
//!
//! - Start with [`catalogue`]: it lists the scenarios, and the [`catalogue::MutationCase`]s that switch one rule off.
//! - Reading, deciding and writing are separate events of a replica, so that other events come in between. Time passes only
//!   when no replica in reach has anything to do.
//! - The policy has a switch for each rule. A [`Guard`] within a rule is switched off by a replica that deviates from `step`.
//!   In both cases [`search`] must find a shortest path to a broken invariant.
//! - Liveness is an invariant: from every state, without further faults, the cluster recovers.
//!
//! # How to read a trace
//!
//! `cargo xtask model --traces` tells each counterexample in words, one event a line. `means to` write or publish is an
//! attempt: after a write by another replica or program, the replica only reads the object again. CA 1 signs and CA 2 is next
//! when a settled scenario begins, new ones count on from 3; 901 and 902 belong to an old ring. The last line is the
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
