//! The scenarios. Each measures some servers and returns rows.

mod connections;
pub(crate) mod growth;
mod memory;
pub(crate) mod overload;
pub(crate) mod quota;
mod rates;
pub(crate) mod rotation;
mod rounds;
pub(crate) mod start;
mod steady;

use clap::ValueEnum;

use crate::bench::Bench;
use crate::figure::Row;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Steady creation of Pods that are changed
    S1,
    /// Objects that are allowed as they are
    S2,
    /// Objects that are denied
    S3,
    /// Half of the capacity
    S4,
    /// A new connection for each call
    S5,
    /// Bursts of calls
    S6,
    /// Certificates that change under load
    S7,
    /// More calls than can be answered
    S8,
    /// Memory and the size of programs
    S9,
    /// From the start of a process to its first answer
    S10,
    /// A CPU limit of 100m
    S11,
    /// Growth with rules, annotations and containers
    S12,
}

/// The scenarios of `--quick`.
pub(crate) const QUICK: [Scenario; 4] = [Scenario::S1, Scenario::S2, Scenario::S5, Scenario::S10];

impl Scenario {
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::S1 => "Steady load: every object gets a sidecar, a volume and an annotation",
            Self::S2 => "Objects that are allowed as they are",
            Self::S3 => "Objects that are denied with a message",
            Self::S4 => "Half of the capacity: latency where nothing has to wait long",
            Self::S5 => "A new connection for each call",
            Self::S6 => "Bursts of calls, with 25 idle connections as an API server keeps them",
            Self::S7 => "A new certificate every 100 ms",
            Self::S8 => "More calls than a handler of 1 ms can answer",
            Self::S9 => "Memory, and the size of the program",
            Self::S10 => "From the start of the process to its first answer",
            Self::S11 => "200 Pods a second at a CPU limit of 100m",
            Self::S12 => "Growth of the injector's cost",
        }
    }

    pub(crate) async fn run(self, bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
        match self {
            Self::S1 => steady::changed(bench).await,
            Self::S2 => steady::allowed(bench).await,
            Self::S3 => steady::denied(bench).await,
            Self::S4 => rates::half(bench).await,
            Self::S5 => connections::run(bench).await,
            Self::S6 => rates::bursts(bench).await,
            Self::S7 => rotation::run(bench).await,
            Self::S8 => overload::run(bench).await,
            Self::S9 => memory::run(bench).await,
            Self::S10 => start::run(bench).await,
            Self::S11 => quota::run(bench).await,
            Self::S12 => growth::run(bench).await,
        }
    }
}
