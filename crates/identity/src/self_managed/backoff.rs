//! Pauses between attempts.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// Longer than [`LONGEST`] and the timeout of an attempt together.
const QUIET: Duration = Duration::from_secs(120);

/// The time of the next attempt. The pause grows with each failure.
#[derive(Default)]
pub(super) struct Backoff {
    failures: u32,
    pub(super) until: Option<Instant>,
    /// The pause avoids a race between replicas, so an event does not end it.
    is_race: bool,
    /// The last attempt failed. This stays set until an attempt succeeds.
    pub(super) is_failing: bool,
}

impl Backoff {
    pub(super) fn allows(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// A failure that may pass by itself: 0.5 s, doubled each time up to 30 s.
    pub(super) fn failed(&mut self, now: Instant) {
        let pause = FIRST.saturating_mul(1 << self.failures.min(6)).min(LONGEST);
        self.failures += 1;
        (self.until, self.is_race, self.is_failing) = (Some(now + pause), false, true);
    }

    /// Ends a row of failures if the last pause ended minutes ago: a watch that works reports nothing while its object stays as it is.
    pub(super) fn forget_after_quiet(&mut self, now: Instant) {
        if self.until.is_some_and(|until| now.saturating_duration_since(until) > QUIET) {
            self.clear();
        }
    }

    /// A refusal that the operator has to resolve: starts at 2 s, because a new installation may get its rights a little later.
    pub(super) fn refused(&mut self, now: Instant) {
        self.failures = self.failures.max(2);
        self.failed(now);
    }

    /// Another replica wrote first: pauses for a random time, so that the next attempts do not collide.
    pub(super) fn lost_race(&mut self, now: Instant) {
        self.failures += 1;
        let longest = Duration::from_millis(50).saturating_mul(1 << self.failures.min(5));
        (self.until, self.is_race) = (Some(now + random_below(longest)), true);
    }

    /// An event of the object may have removed the cause, so the next attempt may be made at once.
    pub(super) fn object_changed(&mut self) {
        if !self.is_race {
            *self = Self { is_failing: self.is_failing, ..Self::default() };
        }
    }

    /// The attempt succeeded.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Slows repairs down when another program writes the same field again and again.
#[derive(Default)]
pub(super) struct RepairThrottle {
    repairs: u32,
    last: Option<Instant>,
}

impl RepairThrottle {
    /// The first four repairs are made at once; after that one in 5 s, so at most 15 in a minute.
    const PATIENCE: u32 = 4;
    const PAUSE: Duration = Duration::from_secs(5);
    const FORGOTTEN: Duration = Duration::from_secs(20);

    pub(super) fn allows(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.saturating_duration_since(last) >= self.pause())
    }

    pub(super) fn repaired(&mut self, now: Instant) {
        let quiet = self.last.is_none_or(|last| now.saturating_duration_since(last) >= Self::FORGOTTEN);
        self.repairs = if quiet { 1 } else { self.repairs.saturating_add(1) };
        self.last = Some(now);
    }

    /// Whether the last repairs followed each other so fast that the next one waits.
    pub(super) fn is_slowed(&self) -> bool {
        self.repairs >= Self::PATIENCE
    }

    fn pause(&self) -> Duration {
        if self.is_slowed() { Self::PAUSE } else { Duration::ZERO }
    }
}

/// The pauses between claims to the entries of another version. They grow while a replica of it objects.
#[derive(Default)]
pub(super) struct Claims {
    made: u32,
    next: Option<Instant>,
}

impl Claims {
    pub(super) fn allows(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// Records a claim, which may be acted on after `hold`.
    pub(super) fn made(&mut self, now: Instant, hold: Duration) {
        self.made = self.made.saturating_add(1);
        self.next = Some(now + hold.saturating_mul(1 << self.made.min(2)));
    }
}

/// A random span below this one.
pub(super) fn random_below(below: Duration) -> Duration {
    below.mul_f64(random_fraction())
}

/// A random number in `0..1`, not for secrets.
pub(super) fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_take_longer_each_time_up_to_half_a_minute() {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        assert!(backoff.allows(start));
        for seconds in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            backoff.failed(start);
            let pause = Duration::from_secs_f64(seconds);
            assert!(!backoff.allows(start + pause - Duration::from_millis(1)));
            assert!(backoff.allows(start + pause));
        }
        backoff.object_changed();
        assert!(backoff.allows(start));
        for seconds in [2, 4, 8, 16, 30, 30] {
            backoff.refused(start);
            assert!(!backoff.allows(start + Duration::from_secs(seconds - 1)));
            assert!(backoff.allows(start + Duration::from_secs(seconds)));
        }
    }

    /// After one outage every later failure of a watch took half a minute.
    #[test]
    fn the_first_failure_after_minutes_without_one_is_short_again() {
        let (start, mut backoff) = (Instant::now(), Backoff::default());
        for _ in 0..8 {
            backoff.failed(start);
        }
        for (seconds, pause) in [(LONGEST.as_secs() + 60, LONGEST), (600, FIRST)] {
            let now = start + Duration::from_secs(seconds);
            backoff.forget_after_quiet(now);
            backoff.failed(now);
            assert_eq!(backoff.until, Some(now + pause));
        }
    }

    #[test]
    fn an_event_does_not_end_the_pause_after_a_lost_race() {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        backoff.lost_race(start);
        let end = backoff.until;
        backoff.object_changed();
        assert_eq!(backoff.until, end);
        assert!(backoff.allows(start + Duration::from_millis(100)), "short at first");
    }

    #[test]
    fn repairs_are_slowed_and_never_given_up() {
        let mut repair_throttle = RepairThrottle::default();
        let mut now = Instant::now();
        for _ in 0..RepairThrottle::PATIENCE {
            assert!(repair_throttle.allows(now), "the first repairs go at once");
            repair_throttle.repaired(now);
        }
        for _ in 0..100 {
            assert!(!repair_throttle.allows(now));
            now += RepairThrottle::PAUSE;
            assert!(repair_throttle.allows(now));
            repair_throttle.repaired(now);
        }
        now += RepairThrottle::FORGOTTEN;
        repair_throttle.repaired(now);
        assert!(repair_throttle.allows(now), "forgotten after a while");
    }

    /// Case F17: each reset is answered within five seconds, and no minute has more than fifteen answers.
    #[test]
    fn a_tool_that_writes_every_second_is_answered_fifteen_times_a_minute_at_most() {
        let (mut repair_throttle, start) = (RepairThrottle::default(), Instant::now());
        let repaired = (0..600).filter(|second| {
            let now = start + Duration::from_secs(*second);
            let allowed = repair_throttle.allows(now);
            if allowed {
                repair_throttle.repaired(now);
            }
            allowed
        });
        let repaired: Vec<u64> = repaired.collect();
        assert!(repaired.windows(2).all(|pair| pair[1] - pair[0] <= 5), "{repaired:?}");
        let within = |from: u64| repaired.iter().filter(|second| (from..from + 60).contains(*second)).count();
        assert!((0..540).all(|from| within(from) <= 15), "{repaired:?}");
    }

    #[test]
    fn a_random_span_stays_below_its_limit_and_varies() {
        let spans: Vec<_> = (0..50).map(|_| random_below(Duration::from_secs(1))).collect();
        assert!(spans.iter().all(|span| *span < Duration::from_secs(1)));
        assert!(spans.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
