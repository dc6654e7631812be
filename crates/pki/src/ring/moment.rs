//! Time in whole seconds, as in certificates.

use std::time::Duration;

/// Seconds since 1970, UTC. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// Later by this span.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_secs()))
    }

    /// Earlier by this span.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_secs()))
    }

    /// The time since `earlier`; zero if `earlier` is in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.0.saturating_sub(earlier.0))
    }

    /// Moved by a signed number of seconds, to correct a clock.
    #[must_use]
    pub fn corrected(self, seconds: i64) -> Self {
        Self(self.0.saturating_add_signed(seconds))
    }
}
