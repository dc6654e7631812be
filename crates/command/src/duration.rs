//! Spans of time as people write them.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};

/// `10s`, `1m30s`, `7d`; a day has 24 hours.
///
/// # Errors
/// The text is no such duration.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span = text.parse::<Span>().and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    let parsed = span.ok().and_then(|span| span.try_into().ok());
    parsed.ok_or_else(|| "write a duration such as `10s`, `1m30s` or `7d`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_write_them() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("365d"), Ok(Duration::from_secs(365 * 24 * 60 * 60)));
        assert!(duration("-1s").is_err());
        assert!(duration("10").is_err());
        assert!(duration("1mo").is_err());
    }
}
