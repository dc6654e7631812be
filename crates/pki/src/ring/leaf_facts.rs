//! The facts about a leaf that `step` reads.

use super::facts::CaId;
use super::moment::Moment;

/// A replica's own leaf.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeafFacts {
    /// The CA that signed it.
    pub issuer: CaId,
    /// The CA that signed the cross-signed certificate in its chain.
    pub cross_signature: Option<CaId>,
    /// When to make the next one.
    pub renew: Moment,
    /// The first second of its validity.
    pub not_before: Moment,
    /// The last second of its validity.
    pub not_after: Moment,
}

impl LeafFacts {
    /// Whether clients with this clock accept its dates.
    #[must_use]
    pub fn is_valid(&self, now: Moment) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}
