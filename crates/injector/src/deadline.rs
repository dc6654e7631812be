//! Moments within a call.

use std::time::Instant;

/// The moment at which `part` of the time is over that is left until `deadline`: the rest is for what follows.
pub(crate) fn within(deadline: Instant, part: f32) -> Instant {
    // The clock that timers go by.
    let now = tokio::time::Instant::now().into_std();
    now + deadline.saturating_duration_since(now).mul_f32(part)
}
