//! Measures what the scenarios ask for. Each measurement compares some servers and returns rows.

pub(crate) mod connections;
pub(crate) mod growth;
pub(crate) mod memory;
pub(crate) mod overload;
mod quota;
mod rates;
pub(crate) mod rotation;
mod rounds;
pub(crate) mod start;
mod steady;

use crate::figure::Row;
use crate::run::Bench;
use crate::scenario::Scenario;

pub(crate) async fn run(scenario: Scenario, bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    match scenario {
        Scenario::S1 => steady::changed(bench).await,
        Scenario::S2 => steady::allowed(bench).await,
        Scenario::S3 => steady::denied(bench).await,
        Scenario::S4 => rates::half(bench).await,
        Scenario::S5 => connections::run(bench).await,
        Scenario::S6 => rates::bursts(bench).await,
        Scenario::S7 => rotation::run(bench).await,
        Scenario::S8 => overload::run(bench).await,
        Scenario::S9 => memory::run(bench).await,
        Scenario::S10 => start::run(bench).await,
        Scenario::S11 => quota::run(bench).await,
        Scenario::S12 => growth::run(bench).await,
    }
}
