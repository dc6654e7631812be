//! The CA ring: which certificates are trusted, which one signs, and when that changes.
//!
//! The protocol is one pure function, [`step`]: facts in, actions out. It sees ids, states, times and verdicts, never a
//! key or a certificate, so that a model checker can hold it. [`Change::apply`] says what a ring is after a change;
//! [`carry_out`] does the same with cryptography.
//!
//! A caller carries out the **first** action, updates its [`Observations`] and asks again.
//!
//! | | With certificates and keys | Ids, states and times, for [`step`] |
//! |---|---|---|
//! | a ring | [`Ring`] (`with_keys.rs`) | [`Facts`] |
//! | the content of the Secret, which may be no ring | [`Reading`] | [`RingFacts`] |
//! | a serving certificate | [`Leaf`](crate::Leaf) | [`LeafFacts`] |

mod action;
mod carry_out;
mod change;
mod encoding;
mod error;
mod facts;
mod key_source;
mod leaf_facts;
mod moment;
mod observations;
mod policy;
mod reading;
mod step;
#[cfg(test)]
mod tests;
mod with_keys;

pub use crate::algorithm::{Algorithm, AlgorithmError};
pub use action::{Action, Blocked};
pub use carry_out::carry_out;
pub use change::{CaFactory, Change};
pub use error::{Problem, RingError};
pub use facts::{
    AuthorityFacts, AuthorityState, BundleMark, CaId, CrossSignature, Facts, Lineage, Request, RingFacts,
    Role,
};
pub use key_source::KeySource;
pub use leaf_facts::LeafFacts;
pub use moment::Moment;
pub use observations::{Configuration, Observations, Seen};
pub use policy::{Policy, PolicyProblem, Rule, UnknownAuthorities, UnknownAuthoritiesError};
pub use reading::Reading;
pub use step::step;
pub use with_keys::{Ring, read_bundle};
