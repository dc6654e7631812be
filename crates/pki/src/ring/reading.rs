//! The result of reading the ring's Secret.

use crate::ring::{Ring, RingError, RingFacts};

/// The content of the ring's Secret, with keys. No `Debug`.
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
    /// The Secret cannot be used, with the reason.
    Unreadable(RingError),
    /// Written by a newer version: replicas sign with it and never write it. Without a ring if this version cannot read it.
    Newer(Option<Box<Ring>>),
    /// A ring.
    Known(Box<Ring>),
}

impl Reading {
    /// The facts for [`step`](crate::ring::step).
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
