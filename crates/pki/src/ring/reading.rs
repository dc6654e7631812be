//! What a carrier finds in the ring's Secret.

use crate::ring::{Ring, RingError, RingFacts};

/// What the ring's Secret holds, with keys. No `Debug`.
///
/// ```
/// use std::collections::BTreeMap;
/// use vestibule_pki::ring::{Moment, Reading, Ring, RingFacts};
///
/// let data = BTreeMap::from([("ring.json".to_owned(), "rubbish")]);
/// let reading = Ring::read(Some(&data), (0, 0), Moment(1_800_000_000));
/// assert_eq!(reading.facts(), RingFacts::Unreadable);
/// let Reading::Unreadable(error) = reading else { panic!("this is no ring") };
/// assert_eq!(error.to_string(), "the ring's field `ring.json` cannot be read: it must be JSON of the ring's schema");
/// ```
pub enum Reading {
    /// There is no Secret, or an empty one.
    Absent,
    /// There is one that cannot be used, and why.
    Unreadable(RingError),
    /// Written by a newer version: to be used and never written. Without a ring when not even that much is understood.
    Newer(Option<Box<Ring>>),
    /// A ring.
    Known(Box<Ring>),
}

impl Reading {
    /// What [`step`](crate::ring::step) knows of it.
    #[must_use]
    pub fn facts(&self) -> RingFacts {
        match self {
            Self::Absent => RingFacts::Absent,
            Self::Unreadable(_) => RingFacts::Unreadable,
            Self::Newer(ring) => RingFacts::Newer(ring.as_ref().map(|ring| ring.facts().clone())),
            Self::Known(ring) => RingFacts::Known(ring.facts().clone()),
        }
    }

    /// A ring that can sign.
    #[must_use]
    pub fn ring(&self) -> Option<&Ring> {
        match self {
            Self::Known(ring) | Self::Newer(Some(ring)) => Some(ring),
            Self::Absent | Self::Unreadable(_) | Self::Newer(None) => None,
        }
    }
}
