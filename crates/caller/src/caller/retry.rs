//! Retries that the server asks for.

use std::time::Duration;

/// kube-apiserver repeats one call at most this many times.
pub(super) const MAX_RETRIES: u32 = 10;

pub(super) struct Retries {
    left: u32,
}

impl Retries {
    pub(super) fn new(most: u32) -> Self {
        Self { left: most }
    }

    /// The pause before the same request is sent again; [`None`] if it is not repeated.
    pub(super) fn pause(&mut self, status: u16, retry_after: Option<&str>) -> Option<Duration> {
        let asks = status == 429 || status >= 500;
        // A date in the header is ignored, and a negative number means no pause.
        let seconds = retry_after.filter(|_| asks)?.parse::<i64>().ok()?;
        self.left = self.left.checked_sub(1)?;
        Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_busy_answers_with_whole_seconds_are_repeated() {
        let pause = |status, header| Retries::new(MAX_RETRIES).pause(status, header);
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

    #[test]
    fn ten_times_at_most() {
        let mut retries = Retries::new(MAX_RETRIES);
        let granted = (0..20).filter(|_| retries.pause(503, Some("0")).is_some()).count();
        assert_eq!(granted, 10);
    }
}
