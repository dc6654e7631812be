//! The spans of time that the protocol keeps. The share of a leaf's life after which it is renewed is in `step/leaf.rs`.

mod problem;

use std::str::FromStr;
use std::time::Duration;

pub use problem::PolicyProblem;

/// The spans of time that the protocol keeps; whole seconds. All replicas of a ring must have the same.
///
/// [`check`](Self::check) tells whether they fit each other, [`floors`](Self::floors) whether they fit a real cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Policy {
    /// Validity of a CA. It is `next` for a third of it and active for a third of it.
    pub authority_life: Duration,
    /// Validity of a leaf, and how long a replica signs without having read the ring.
    pub leaf_life: Duration,
    /// How long the next CA must have been seen in every configuration before it signs.
    pub hold: Duration,
    /// The same for the first CA of a ring, and how long configurations must be quiet before a replica first serves.
    pub hold_cold: Duration,
    /// How far clocks may be apart.
    pub skew: Duration,
    /// How old a look at a configuration may be when something is decided for good.
    pub recheck: Duration,
    /// How long replicas are given to leave a revoked CA.
    pub switch_wait: Duration,
    /// Restoring a deleted ring asks for a rotation, but not more often than this.
    pub restore_pause: Duration,
    /// How long a CA of unknown origin stays trusted. [`None`] means the life of a leaf, which is also the minimum.
    pub quarantine: Option<Duration>,
    /// The treatment of unknown CAs: CAs found in configurations that this ring never made.
    pub unknown_authorities: UnknownAuthorities,
    /// The most unknown CAs that a ring keeps. Above the limit the ring keeps the lowest ids and reports the rest; CAs that a
    /// replica's leaf or memory needs do not count.
    pub unknown_limit: usize,
    /// Bit n: rule n is off.
    off: u16,
}

/// The treatment of unknown CAs: CAs found in configurations that this ring never made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnknownAuthorities {
    /// Unknown CAs stay trusted for the quarantine, each in the configuration where it was found and in no other: for a migration
    /// from another ring, whose replicas still present leaves.
    Keep,
    /// Unknown CAs are overwritten, after a wait in which a replica that signs with one of them may name it in the ring.
    #[default]
    Drop,
}

impl FromStr for UnknownAuthorities {
    type Err = UnknownAuthoritiesError;

    fn from_str(word: &str) -> Result<Self, UnknownAuthoritiesError> {
        match word {
            "keep" => Ok(Self::Keep),
            "drop" => Ok(Self::Drop),
            _ => Err(UnknownAuthoritiesError(word.to_owned())),
        }
    }
}

impl std::fmt::Display for UnknownAuthorities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::Keep { "keep" } else { "drop" })
    }
}

/// A text that is neither `keep` nor `drop`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown CAs can be `keep` or `drop`, not `{0}`")]
pub struct UnknownAuthoritiesError(String);

/// The rules of the protocol, each a guard of `step`. The caller of `step`
/// keeps rule W1: the ring is written by compare-and-swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A bundle is written over the configuration that was read *before* the ring was.
    W2,
    /// A ring older than what a configuration shows is never published.
    W3,
    /// A CA is held when every configuration was seen with it for a while, without a gap.
    H1,
    /// Promotion needs a held CA in every configuration now.
    P1,
    /// Promotion makes a cross-signed certificate.
    P2,
    /// Leaves come only from an active CA that clients know.
    S1,
    /// The first leaf waits until configurations are quiet.
    S2,
    /// No leaf outlives the last reading of the ring by more than a leaf's life.
    S3,
    /// A CA is removed only when no leaf of its can be alive.
    D1,
    /// A ring that does not continue what is known is grafted onto, never replaced.
    G1,
    /// A lost ring is restored from memory, or made anew around what is trusted.
    G2,
    /// A valid leaf is kept; after its expiry the replica presents any leaf it can sign.
    E1,
    /// The clock is the API server's.
    C1,
    /// A CA near its end is replaced even if its successor is not held.
    L1,
    /// No decision waits for a configuration that refuses our writes or is absent, and that holds no needed CA.
    L2,
}

impl Default for Policy {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            authority_life: DAY * 365,
            leaf_life: DAY * 7,
            hold: DAY,
            hold_cold: Duration::from_secs(30),
            skew: Duration::from_secs(5 * 60),
            recheck: Duration::from_secs(5),
            switch_wait: Duration::from_secs(2 * 60),
            restore_pause: Duration::from_secs(60 * 60),
            quarantine: None,
            unknown_authorities: UnknownAuthorities::Drop,
            unknown_limit: 8,
            off: 0,
        }
    }
}

impl Policy {
    /// How long a CA signs.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.authority_life / 3
    }

    /// How much life an active CA may have left before it is replaced at any price.
    #[must_use]
    pub fn last_call(&self) -> Duration {
        self.leaf_life.saturating_mul(2).max(self.authority_life / 12)
    }

    /// How long a CA of unknown origin stays trusted.
    #[must_use]
    pub fn quarantine(&self) -> Duration {
        self.quarantine.unwrap_or(self.leaf_life)
    }

    /// The same policy with a rule switched off, for a model checker to show what the rule is for.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.off |= 1 << rule as u16;
        self
    }

    /// Whether the rule is on. Outside a model, every rule is.
    #[must_use]
    pub fn enforces(&self, rule: Rule) -> bool {
        self.off & (1 << rule as u16) == 0
    }
}
