//! What came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::Histogram;
use crate::CallError;

/// What came of the calls of a [`Load`](super::Load).
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Calls that ended, well or not: the sum of `admitted` and `refused`.
    pub called: u64,
    /// Requests of users that went on; with [`FailurePolicy::Ignore`](crate::FailurePolicy::Ignore) also some whose call failed.
    pub admitted: u64,
    /// Requests of users that ended there: denied, or because the call failed.
    pub refused: u64,
    /// Answers that said no, as they should or should not.
    pub denied: u64,
    /// Calls that failed.
    pub failed: BTreeMap<Failure, u64>,
    /// What a user would have read of the first failure of each kind.
    pub words: BTreeMap<Failure, String>,
    /// Requests that were sent again, because the server asked for that.
    pub retried: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// From the moment they were due: calls that brought an answer.
    pub latency: Histogram,
    /// Calls that brought an answer, but took longer than [`Load::noting`](super::Load::noting) says: when each was due, and
    /// how long it took from then on.
    pub slow: Vec<(Instant, Duration)>,
    /// From the moment they were due: calls that failed.
    pub failing: Histogram,
    /// How long calls that were due were not sent yet. Where that is long, this client is the slow one.
    pub late: Histogram,
    /// From the beginning to the last call's end.
    pub took: Duration,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Failure {
    /// No connection.
    Connect,
    /// No TLS.
    Handshake,
    /// The connection ended before the answer did: reset, or EOF.
    Broken,
    /// No answer in time.
    Deadline,
    /// An HTTP status that is no answer, and no retry was asked for, or ten were not enough.
    Status(u16),
    /// An answer that broke a rule.
    Invalid,
    /// A patch that could not be used: refused under every failure policy.
    Patch,
    /// It was never sent: see [`Load::in_flight`](super::Load::in_flight).
    Unsent,
}

impl Report {
    /// How many calls failed.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Answers a second, those of failed calls aside.
    pub fn goodput(&self) -> f64 {
        (self.called - self.failures()) as f64 / self.took.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Connect { .. } => Self::Connect,
            CallError::Tls { .. } => Self::Handshake,
            CallError::Broken { .. } => Self::Broken,
            CallError::Deadline { .. } => Self::Deadline,
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
        write!(out, "{} refused, {} failed, {} retried, ", self.refused, self.failures(), self.retried)?;
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
