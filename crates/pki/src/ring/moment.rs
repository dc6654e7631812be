//! Seconds, as certificates count them.

use std::time::Duration;

/// A second since 1970, UTC. Arithmetic stops at either end of the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// So much later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_secs()))
    }

    /// So much earlier.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_secs()))
    }

    /// How long ago `earlier` was; zero if it is still to come.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.0.saturating_sub(earlier.0))
    }

    /// Moved by a signed number of seconds: a clock corrected.
    #[must_use]
    pub fn corrected(self, seconds: i64) -> Self {
        Self(self.0.saturating_add_signed(seconds))
    }
}
