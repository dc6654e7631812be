//! The actions that `step` returns.

use crate::ring::{CaId, Change, LeafFacts};

/// One action. The caller of `step` carries out the first action of the list and calls `step` again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read the configuration at this position again: a decision needs a fresh look.
    ReadConfiguration(usize),
    /// Read the ring again, at quorum: a configuration was seen since.
    ReadRing,
    /// Write the ring by compare-and-swap; read it again after a conflict.
    WriteRing(Change),
    /// Write the ring's bundle and mark into the configuration at this position, over exactly what was seen of it.
    PublishBundle(usize),
    /// Sign a new leaf and present it.
    SignLeaf(LeafFacts),
    /// Present no leaf any more. (Never, while rule E1 is on.)
    DropLeaf,
    /// `step` cannot resolve this; the caller reports it to the operator.
    Report(Blocked),
}

impl Action {
    /// Whether the action changes neither an object nor the leaf.
    #[must_use]
    pub fn is_report(&self) -> bool {
        matches!(self, Self::Report(_))
    }
}

/// The reason why a due action does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Blocked {
    /// The local clock differs from the API server's by more than [`Policy::skew`](crate::ring::Policy::skew): no CA is promoted or removed.
    Clock,
    /// A rotation waits for the next CA to be held.
    Hold(CaId),
    /// The ring was written by a newer version: it is only read.
    NewerSchema,
    /// The API server refuses writes to a configuration that must change.
    Denied(usize),
    /// The number of unknown CAs above [`Policy::unknown_limit`](crate::ring::Policy::unknown_limit); they are no longer trusted.
    UnknownLimit(usize),
    /// A configuration names a ring and holds CAs that neither the stored ring nor this replica knows. It is overwritten after
    /// `hold_cold`, so that a replica that signs with one of them can add it to the ring first.
    Contested,
}
