//! The scenarios. Each measures some servers in rounds and returns rows.

mod rounds;
mod steady;

use clap::ValueEnum;

use crate::bench::Bench;
use crate::figure::Row;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Steady creation of Pods that are changed
    S1,
}

impl Scenario {
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::S1 => "Steady load: every Pod gets a sidecar, a volume and an annotation",
        }
    }

    pub(crate) async fn run(self, bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
        match self {
            Self::S1 => steady::run(bench).await,
        }
    }
}
