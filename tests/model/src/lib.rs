//! The CA ring's protocol under a model checker.
//!
//! [`Scenario`] is a small cluster: replicas that run the very [`vestibule_pki::ring::step`], a Secret, configurations,
//! API servers that see these late, and a number of faults. The checker walks every order of events.
//!
//! A replica's reading, deciding and writing are events of their own, so that others come in between. Time passes only
//! when every reachable replica has nothing to do: replicas are quick, or cut off.

mod act;
mod event;
mod fault;
mod property;
mod scenario;
mod world;

pub use event::Event;
pub use fault::{Fault, Faults};
pub use property::NAMES;
pub use scenario::{Scenario, Start};
pub use world::{Names, Object, Published, Replica, World};
