//! Corrects the clock by the API server's.

use vestibule_pki::ring::{Blocked, Moment};
use zeroize::Zeroizing;

use super::State;
use crate::self_managed::api_client::{Answer, ApiError};

/// Smaller differences are ignored: an answer takes time, and its `Date` has whole seconds.
const SAME_SECOND: u64 = 2;

impl State {
    /// Rule C1: the clock is the API server's.
    pub(super) fn dated(&mut self, answer: Answer, now: Moment) -> Result<Zeroizing<Vec<u8>>, ApiError> {
        if let Some(date) = answer.date {
            let offset = i64::try_from(date.0).unwrap_or(i64::MAX).saturating_sub_unsigned(now.0);
            if offset.abs_diff(self.seen.offset) > SAME_SECOND {
                self.seen.offset = offset;
                self.clamp_future_observations(now);
                if offset.unsigned_abs() > self.settings.policy.skew.as_secs() {
                    self.report(Blocked::Clock);
                }
            }
        }
        answer.outcome
    }

    /// After a clock was set back, observations that are in the future count from now on.
    fn clamp_future_observations(&mut self, now: Moment) {
        let now = self.corrected(now);
        for seen in &mut self.seen.configurations {
            seen.bundle
                .values_mut()
                .chain([&mut seen.read])
                .chain(&mut seen.changed)
                .chain(&mut seen.absent)
                .for_each(|moment| {
                    *moment = now.min(*moment);
                });
        }
        if let Some(leaf) = &mut self.seen.leaf
            && leaf.not_after > now.plus(self.settings.policy.leaf_life)
        {
            (leaf.renew, leaf.not_after) = (now, now.plus(self.settings.policy.leaf_life / 2));
        }
        for moment in [&mut self.seen.confirmed, &mut self.seen.begun, &mut self.seen.contested] {
            *moment = moment.map(|moment| moment.min(now));
        }
    }
}
