//! The timeout of a call, and the deadline of its answer.

use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

/// The time that the caller waits for an answer: the smaller of its `timeout` parameter and the hook's own.
///
/// kube-apiserver rounds its parameter up to whole seconds, so a call with less time left may still be given up earlier.
///
/// ```
/// use std::time::Duration;
/// use vestibule_server::{budget, timeout};
///
/// let timeout = timeout(Some("timeout=2s"), Duration::from_secs(5));
/// assert_eq!((timeout, budget(timeout)), (Duration::from_secs(2), Duration::from_millis(1750)));
/// ```
pub fn timeout(query: Option<&str>, hook: Duration) -> Duration {
    query.and_then(timeout_parameter).map_or(hook, |asked| asked.min(hook))
}

/// The part of a [`timeout`] in which the answer must be made. The rest is for its way back: a tenth of the timeout, at least 250 ms
/// and at most 500 ms, but never more than a quarter.
pub fn budget(timeout: Duration) -> Duration {
    let way_back = (timeout / 10).clamp(Duration::from_millis(250), Duration::from_millis(500));
    timeout - way_back.min(timeout / 4)
}

/// The moment `duration` after `start`, at most a year: `Instant` cannot hold every sum.
pub(crate) fn after(start: Instant, duration: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    start + duration.min(YEAR)
}

/// The parameter is a duration as Go's `time.Duration` prints it: `10s`, `1m30s`, `1.5s`, `500ms`. One that cannot be parsed, or is
/// not positive, sets no limit; the call is not refused because of it.
fn timeout_parameter(query: &str) -> Option<Duration> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("timeout="))?;
    let timeout: SignedDuration = value.parse().ok()?;
    timeout.is_positive().then(|| timeout.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_as_go_prints_them() {
        let milliseconds = Duration::from_millis;
        for (text, expected) in [
            ("10s", Some(milliseconds(10_000))),
            ("1m30s", Some(milliseconds(90_000))),
            ("1h0m1s", Some(milliseconds(3_601_000))),
            ("1.5s", Some(milliseconds(1500))),
            ("250ms", Some(milliseconds(250))),
            ("2µs", Some(Duration::from_micros(2))),
            ("0s", None),
            ("", None),
            ("10", None),
            ("s", None),
            ("-1s", None),
            ("1x", None),
            ("1..s", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(timeout_parameter(&format!("timeout={text}")), expected, "{text}");
        }
    }

    #[test]
    fn the_smaller_timeout_counts_less_a_margin() {
        let (second, hook) = (Duration::from_secs(1), Duration::from_secs(5));
        for (query, expected) in [
            (None, 4500),
            (Some("timeout=2s"), 1750),
            (Some("a=b&timeout=1s"), 750),
            (Some("timeout=400ms"), 300),
            (Some("timeout=30s"), 4500),
            (Some("timeout=0s"), 4500),
            (Some("timeout=soon"), 4500),
            (Some(""), 4500),
        ] {
            assert_eq!(budget(timeout(query, hook)), Duration::from_millis(expected), "{query:?}");
        }
        assert_eq!(budget(timeout(Some("timeout=30s"), second * 60)), Duration::from_millis(29_500));
    }
}
