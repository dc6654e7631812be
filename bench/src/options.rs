//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::scenario::Scenario;

/// Compares webhook servers: the same calls, one server at a time in alternating rounds, each on a processor of its own.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench", after_help = "Servers that were not built are left out by name.")]
pub(crate) struct Options {
    /// Fewer, shorter rounds; without `--scenario` the main cases of a few scenarios: three minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these scenarios
    #[arg(long = "scenario", value_delimiter = ',', value_name = "S1,...", ignore_case = true)]
    pub(crate) scenarios: Vec<Scenario>,
    /// Only these servers, and the floor: the begin of a name is enough
    #[arg(long = "server", value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) servers: Vec<String>,
    /// The sizes of Pods in S1, in bytes [default: 8000, 92000 and 1400000]
    #[arg(long = "size", value_delimiter = ',', value_name = "BYTES,...")]
    pub(crate) sizes: Vec<usize>,
    /// Rounds of each server
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<usize>,
    /// A folder of programs to measure, before the folder of this program; may be given several times
    #[arg(long = "bin-dir", value_name = "DIR")]
    pub(crate) programs: Vec<PathBuf>,
    /// A folder of other builds of the same programs, which become servers of their own beside them
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,
    /// Only count the instructions of calls in process, under valgrind, and compare them with the committed figures
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Write the results, the page and the picture of the documentation; with `--instructions` the committed figures
    #[arg(long)]
    pub(crate) write: bool,
    /// Make the page and the picture of the documentation from the results that are there, without measuring
    #[arg(long, conflicts_with = "write")]
    pub(crate) page: bool,
    /// Only call the `vestibule` of --bin-dir with recorded reviews: a build with counters writes its profile when it ends
    #[arg(long, requires = "programs", conflicts_with_all = ["page", "instructions", "write", "json", "scenarios", "baseline"])]
    pub(crate) train: bool,
    /// The file for the figures of every round
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 5 } else { 7 }).max(1)
    }

    /// The measured time of a round.
    pub(crate) fn during(&self) -> Duration {
        Duration::from_millis(if self.quick { 400 } else { 1_000 })
    }

    /// How many of `all` cases of a scenario are measured: with `--quick`, the first one, unless the scenario was asked for.
    pub(crate) fn cases(&self, all: usize) -> usize {
        if self.main_cases_only() { 1 } else { all }
    }

    /// Whether only the main cases of scenarios are measured.
    pub(crate) fn main_cases_only(&self) -> bool {
        self.quick && self.scenarios.is_empty()
    }

    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_millis(if self.quick { 80 } else { 300 })
    }

    pub(crate) fn wants(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|wanted| server.starts_with(wanted.as_str()))
    }
}
