//! Converts between the time of the operating system and that of certificates.

use std::time::{Duration, SystemTime};

use rustls_pki_types::UnixTime;

/// Times before 1970 become 1970.
pub(crate) fn unix_time(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

/// Converts the seconds since 1970 of a certificate or of a ring.
pub(crate) fn system_time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
