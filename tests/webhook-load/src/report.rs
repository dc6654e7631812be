//! The report of many calls.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use vestibule_caller::CallError;

use super::histogram::Histogram;

/// The report of the calls of a [`Load`](crate::Load).
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Calls that ended.
    pub called: u64,
    /// Answers that allowed the request; the others denied it, or their call failed.
    pub admitted: u64,
    /// Calls that failed.
    pub failed: BTreeMap<Failure, u64>,
    /// The message that a user would have read for the first failure of each kind.
    pub words: BTreeMap<Failure, String>,
    /// Requests that were repeated because the server asked for it.
    pub retried: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// The latency of calls with an answer, from the moment at which they were due.
    pub latency: Histogram,
    /// Calls with an answer that took longer than [`Load::noting`](crate::Load::noting): when each was due, and its latency.
    pub slow: Vec<(Instant, Duration)>,
    /// The latency of calls that failed, from the moment at which they were due.
    pub failing: Histogram,
    /// How long calls were due before they were sent. If that is long, this client is too slow.
    pub late: Histogram,
    /// The time from the beginning to the end of the last call.
    pub took: Duration,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Failure {
    /// No connection could be opened.
    Connect,
    /// The TLS handshake failed.
    Handshake,
    /// The connection ended before the answer did: reset, or EOF.
    Broken,
    /// No answer came within the timeout.
    Deadline,
    /// The answer had an error status, without a `Retry-After` or after ten retries.
    Status(u16),
    /// The answer failed a check of kube-apiserver.
    Invalid,
    /// The patch could not be applied, so the request is refused under every failure policy.
    Patch,
    /// The call was never sent: see [`Load::in_flight`](crate::Load::in_flight).
    Unsent,
}

impl Report {
    /// The number of calls that failed.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Answers per second, without failed calls.
    pub fn goodput(&self) -> f64 {
        (self.called - self.failures()) as f64 / self.took.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Connect { .. } => Self::Connect,
            CallError::Tls { .. } => Self::Handshake,
            CallError::Deadline { .. } => Self::Deadline,
            _ => Self::Broken,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => out.write_str("no connection"),
            Self::Handshake => out.write_str("no TLS"),
            Self::Broken => out.write_str("broken connection"),
            Self::Deadline => out.write_str("no answer in time"),
            Self::Status(status) => write!(out, "status {status}"),
            Self::Invalid => out.write_str("invalid answer"),
            Self::Patch => out.write_str("unusable patch"),
            Self::Unsent => out.write_str("never sent"),
        }
    }
}

/// Two lines for a person, and one for each kind of failure.
impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        write!(out, "{} calls in {seconds:.1} s: {} admitted, ", self.called, self.admitted)?;
        write!(
            out,
            "{} refused, {} failed, {} retried, ",
            self.called - self.admitted,
            self.failures(),
            self.retried
        )?;
        writeln!(out, "{} connections opened, {:.0} answers a second", self.connections, self.goodput())?;
        write!(out, "latency {}, late {}", Quantiles(&self.latency), Quantiles(&self.late))?;
        for (failure, count) in &self.failed {
            let words = self.words.get(failure).map(String::as_str).unwrap_or_default();
            write!(out, "\n{count} times {failure}: {words}")?;
        }
        Ok(())
    }
}

struct Quantiles<'h>(&'h Histogram);

impl fmt::Display for Quantiles<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            write!(out, "{name} {:.2} ", self.0.quantile(share).as_secs_f64() * 1e3)?;
        }
        write!(out, "max {:.2} ms", self.0.max().as_secs_f64() * 1e3)
    }
}
