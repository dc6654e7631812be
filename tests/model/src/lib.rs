//! The CA ring's protocol under a model checker.

mod act;
pub mod catalogue;
mod event;
mod fault;
mod mutation;
mod property;
pub mod report;
mod scenario;
mod walk;
mod words;
mod world;

pub use event::Event;
pub use fault::{Fault, Faults};
pub use mutation::{Guard, Mutation};
pub use property::{INVARIANTS, Invariant, Shown};
pub use scenario::{FIRST_ACTIVE, Scenario, Start};
pub use walk::{Counterexample, Walk, search, walk};
pub use world::{Names, Object, Published, Replica, World};
