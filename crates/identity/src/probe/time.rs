//! Moments as Go prints them.

use std::time::SystemTime;

use jiff::Timestamp;
use rustls_pki_types::UnixTime;

/// In UTC, to the second.
pub(super) fn rfc3339(time: UnixTime) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "?".to_owned(), |time| time.to_string())
}

pub(super) fn unix_time(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
