//! The cases of `cargo xtask fire`: a file per group of rows of docs/reference/fire.md.

mod cut_off;
mod first_starts;
mod fixture;
mod idle_connections;
mod killed;
mod lateness;
mod malformed;
mod memory_after_load;
mod overload;
mod resting;
mod roll_outs;
mod rotations;
mod row;
mod runner;
mod scale;
mod steady;
mod too_large;
mod uploads;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use anyhow::anyhow;
use tokio::time::{Instant, timeout};

use lateness::Lateness;
pub use row::{Row, Verdict};
pub use runner::{exit_code, run, time_limit};

/// A fault or abuse, and the limits that the webhook keeps under it.
pub struct Case {
    /// The number of its row in docs/reference/fire.md.
    pub name: &'static str,
    /// A description of a few words.
    pub about: &'static str,
    /// Whether it runs only by name or with `--long`.
    pub long: bool,
    /// The time limit in minutes: by default, and with `--long`.
    minutes: [u64; 2],
    run: fn(bool) -> Running,
}

type Running = Pin<Box<dyn Future<Output = anyhow::Result<Vec<Row>>>>>;

/// All cases in their order. They run one at a time, because they measure latency and memory.
pub const CASES: &[Case] = &[
    case("F01", "roll-outs of two replicas under load", [4, 25], |long| Box::pin(roll_outs::run(long))),
    case("F02", "idle connections that are used again, and a drain that waits for them", [3, 3], |_| {
        Box::pin(resting::run())
    }),
    case("F03", "SIGKILL to one of two replicas under load", [1, 1], |_| Box::pin(killed::run())),
    case("F06", "one replica becomes three under load", [24, 24], |_| Box::pin(scale::run())).only_long(),
    case("F09", "two and four times as many calls as the capacity", [3, 8], |long| {
        Box::pin(overload::run(long))
    }),
    case("A01", "bodies one byte above the limit", [1, 1], |_| Box::pin(too_large::run())),
    case("A03", "1,000 uploads of 8 MiB at once", [3, 3], |_| Box::pin(uploads::run())),
    case("A04", "5,000 connections with slow heads", [2, 2], |_| Box::pin(idle_connections::slow_heads())),
    case("A05", "5,000 connections with slow bodies", [2, 2], |_| Box::pin(idle_connections::slow_bodies())),
    case("A06", "5,000 connections that are silent", [2, 2], |_| Box::pin(idle_connections::silent())),
    case("A07", "2,000 handshakes a second without a request, and 6,000 without an end", [2, 2], |_| {
        Box::pin(idle_connections::handshakes())
    }),
    case("A11", "10,000 malformed reviews", [1, 1], |_| Box::pin(malformed::run())),
    case("F14", "first starts of three replicas at once, on real API servers", [4, 30], |long| {
        Box::pin(first_starts::run(long))
    }),
    case("F15", "serving certificates that are renewed under load, on real API servers", [5, 45], |long| {
        Box::pin(rotations::renewals(long))
    }),
    case("F16", "CAs that are replaced under load, on real API servers", [8, 60], |long| {
        Box::pin(rotations::authorities(long))
    }),
    case("F12", "replicas that reach no API server while they serve", [4, 15], |long| {
        Box::pin(cut_off::run(long))
    })
    .only_long(),
    case("steady", "1,000 calls a second without growth of memory", [2, 12], |long| {
        Box::pin(steady::run(long))
    }),
];

const fn case(name: &'static str, about: &'static str, minutes: [u64; 2], run: fn(bool) -> Running) -> Case {
    Case { name, about, long: false, minutes, run }
}

impl Case {
    const fn only_long(self) -> Self {
        Self { long: true, ..self }
    }
}

/// Finds a case by name; upper and lower case are equal.
///
/// # Errors
/// No case has this name.
pub fn find(name: &str) -> Result<&'static Case, String> {
    let known = || CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
    let found = CASES.iter().find(|case| case.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("no such case; the cases are {}", known()))
}

impl Case {
    /// Runs the case within its own time limit and before `end`; `long` selects the full counts.
    async fn run(&self, long: bool, end: Instant) -> Vec<Row> {
        let bound = Duration::from_secs(60 * self.minutes[usize::from(long)]);
        let left = end.saturating_duration_since(Instant::now());
        let ran = if left.is_zero() {
            Err(anyhow!("not run: the time limit of all cases was over"))
        } else {
            timeout(bound.min(left), (self.run)(long)).await.unwrap_or_else(|_| match left < bound {
                true => Err(anyhow!("the time limit of all cases was over")),
                false => Err(anyhow!("the case takes longer than {} minutes", bound.as_secs() / 60)),
            })
        };
        ran.unwrap_or_else(|error| vec![Row::broken(self.name, self.about, &error)])
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<4} {}{}", self.name, self.about, if self.long { " (--long)" } else { "" })
    }
}
