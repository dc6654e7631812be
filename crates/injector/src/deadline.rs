//! Instants within a call.

use std::time::Instant;

/// The instant at which `share` of the time that is left until `deadline` is over; the rest is for later steps.
pub(crate) fn share_of_remaining(deadline: Instant, share: f32) -> Instant {
    // Tests pause Tokio's clock.
    let now = tokio::time::Instant::now().into_std();
    now + deadline.saturating_duration_since(now).mul_f32(share)
}
