//! Retries that the server asks for.

use std::time::Duration;

/// kube-apiserver repeats one call at most this many times.
pub(super) const MAX_RETRIES: u32 = 10;

/// The pause before the same request is sent again; [`None`] if the server does not ask for a retry.
pub(super) fn pause(status: u16, retry_after: Option<&str>) -> Option<Duration> {
    let asks = status == 429 || status >= 500;
    // A date in the header is ignored, and a negative number means no pause.
    let seconds = retry_after.filter(|_| asks)?.parse::<i64>().ok()?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_busy_answers_with_whole_seconds_are_repeated() {
        for status in [429, 500, 503, 599] {
            assert_eq!(pause(status, Some("2")), Some(Duration::from_secs(2)), "{status}");
            assert_eq!(pause(status, Some("-1")), Some(Duration::ZERO), "{status}");
            assert_eq!(pause(status, None), None, "{status}");
            assert_eq!(pause(status, Some("Wed, 21 Oct 2026 07:28:00 GMT")), None, "{status}");
        }
        for status in [200, 400, 403, 404] {
            assert_eq!(pause(status, Some("2")), None, "{status}");
        }
    }
}
