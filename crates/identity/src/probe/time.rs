//! Moments as Go prints them.

use k8s_openapi::jiff::Timestamp;
use rustls_pki_types::UnixTime;

/// In UTC, to the second.
pub(super) fn rfc3339(time: UnixTime) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "?".to_owned(), |time| time.to_string())
}
