//! The trace context of a call: the header `traceparent`, as data.

use std::fmt;

/// The trace context of one call (W3C Trace Context, level 1).
///
/// kube-apiserver passes `traceparent` on if its own caller sent it, even without tracing of its own.
///
/// ```
/// use vestibule_admission::Trace;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace = Trace::continued(header, 0xb7ad6b7169203331).unwrap();
/// assert!(trace.sampled);
/// assert_eq!(trace.id(), "4bf92f3577b34da6a3ce929d0e0e4736");
/// // For calls to other services, which become part of the same trace.
/// assert_eq!(trace.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// The id of the trace; never 0.
    pub trace: u128,
    /// The id of this call within the trace; never 0.
    pub span: u64,
    /// The id of the caller's span; [`None`] if the trace begins here.
    pub parent: Option<u64>,
    /// Whether the caller records the trace; false if it begins here.
    pub sampled: bool,
}

impl Trace {
    /// A trace that begins with this call.
    #[must_use]
    pub fn begun(trace: u128, span: u64) -> Self {
        Self { trace: trace.max(1), span: span.max(1), parent: None, sampled: false }
    }

    /// The trace of a header `traceparent`, with this call as `span`; [`None`] if the header is invalid and must be ignored.
    #[must_use]
    pub fn continued(traceparent: &str, span: u64) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace) = (hex(parts.next()?, 2)?, hex(parts.next()?, 32)?);
        let (parent, flags) = (hex(parts.next()?, 16)?, hex(parts.next()?, 2)?);
        // Later versions may add parts.
        if version == 0xff || (version == 0 && parts.next().is_some()) || trace == 0 || parent == 0 {
            return None;
        }
        let parent = u64::try_from(parent).ok()?;
        Some(Self { trace, span: span.max(1), parent: Some(parent), sampled: flags & 1 == 1 })
    }

    /// The id of the trace in its usual form: 32 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

/// The header `traceparent` with this call as the parent.
impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Exactly this many hexadecimal digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    if fits { u128::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    #[test]
    fn a_traceparent_is_parsed() {
        for (header, sampled) in [
            (format!("00-{TRACE}-{PARENT}-01"), true),
            (format!("00-{TRACE}-{PARENT}-00"), false),
            (format!("00-{TRACE}-{PARENT}-ff"), true),
            (format!(" 00-{TRACE}-{PARENT}-02 "), false),
            (format!("cc-{TRACE}-{PARENT}-01-what-the-future-brings"), true),
        ] {
            let trace = Trace::continued(&header, 7).unwrap();
            assert_eq!((trace.id().as_str(), trace.parent), (TRACE, Some(0xb7ad_6b71_6920_3331)), "{header}");
            assert_eq!((trace.span, trace.sampled), (7, sampled), "{header}");
        }
    }

    #[test]
    fn an_invalid_header_is_ignored() {
        let (zeros, zero) = ("0".repeat(32), "0".repeat(16));
        for header in [
            String::new(),
            "00".to_owned(),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{TRACE}-{zero}-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-+{}-{PARENT}-01", &TRACE[1..]),
            format!("00-{TRACE}é-{PARENT}-01"),
            "-".repeat(10_000),
        ] {
            assert_eq!(Trace::continued(&header, 7), None, "{header}");
        }
    }

    #[test]
    fn ids_are_never_zero() {
        assert_eq!(Trace::begun(0, 0).to_string(), format!("00-{:032x}-{:016x}-00", 1, 1));
    }
}
