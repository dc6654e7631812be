//! Moments and spans, for people.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rustls_pki_types::UnixTime;
use vestibule_pki::ring::Moment;

const DAY: i64 = 24 * 60 * 60;

/// In UTC, to the minute: `2027-11-21 13:08Z`.
pub(super) fn date(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .map_or_else(|_| "?".to_owned(), |time| time.strftime("%Y-%m-%d %H:%MZ").to_string())
}

/// In UTC: `2027-11-21T13:08:05Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}

pub(super) fn system_time(time: UnixTime) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(time.as_secs())
}

pub(super) fn moment_time(moment: Moment) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(moment.0)
}

/// `364 d left`, `3 h left`, `over for 2 min`.
pub(super) fn left(end: SystemTime, now: SystemTime) -> String {
    match end.duration_since(now) {
        Ok(left) => format!("{} left", span(left)),
        Err(error) => format!("over for {}", span(error.duration())),
    }
}

/// The length in seconds, minutes, hours or days, rounded down.
pub(super) fn span(length: Duration) -> String {
    let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rounded_down_to_a_unit() {
        for (seconds, expected) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7200, "2 h"),
            (172_800, "2 d"),
            (31_536_000, "365 d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), expected);
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(left(now + Duration::from_secs(300), now), "5 min left");
        assert_eq!(left(now - Duration::from_secs(300), now), "over for 5 min");
        assert_eq!(date(now), "2027-01-15 08:00Z");
    }
}
