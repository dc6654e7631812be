//! What a replica is to do.

use crate::ring::{CaId, Change, LeafFacts};

/// One thing to do. Whoever carries it out does only the first of a list, and asks again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read the configuration at this position again: a decision needs a fresh look.
    ReadConfiguration(usize),
    /// Read the ring again, at quorum: a configuration was seen since.
    ReadRing,
    /// Write the ring by compare-and-swap; read it again if somebody else was first.
    WriteRing(Change),
    /// Write the ring's bundle and mark into the configuration at this position, over exactly what was seen of it.
    PublishBundle(usize),
    /// Sign a new leaf and present it.
    SignLeaf(LeafFacts),
    /// Present no leaf any more. (Never, while rule E1 is on.)
    DropLeaf,
    /// Nothing can be done about this here; tell people.
    Report(Blocked),
}

impl Action {
    /// Whether it changes nothing anywhere.
    #[must_use]
    pub fn is_report(&self) -> bool {
        matches!(self, Self::Report(_))
    }
}

/// Why something that is due does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Blocked {
    /// The local clock is too far from the API server's: nothing is promoted or removed.
    Clock,
    /// A rotation waits for the next CA to be held.
    Hold(CaId),
    /// The ring was written by a newer version: it is only read.
    NewerSchema,
    /// A configuration that must change refuses our writes.
    Denied(usize),
    /// Configurations hold so many more unknown CAs than a ring carries; these are trusted no longer.
    UnknownLimit(usize),
    /// A configuration shows CAs that neither the ring nor this replica knows: replicas that know them are given time.
    Contested,
}
