//! The cases of `cargo xtask fire`: one to a file, each with the faults that it stands for.

mod cut_off;
mod first_starts;
mod ground;
mod killed;
mod lateness;
mod malformed;
mod overload;
mod quiet;
mod resting;
mod roll_outs;
mod rotations;
mod row;
mod scale;
mod set;
mod steady;
mod strangers;
mod too_large;
mod uploads;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use anyhow::anyhow;
use tokio::time::{Instant, timeout};

use lateness::Lateness;
pub use row::{Row, Verdict};
pub use set::{exit_code, run, whole};

/// Something that is done to a webhook, and what must come of it.
pub struct Case {
    /// How it is called: the number of its row in docs/reference/fire.md.
    pub name: &'static str,
    /// In a few words.
    pub about: &'static str,
    /// Whether it runs only where it is asked for, or with `--long`.
    pub long: bool,
    /// The longest it may take, and with `--long`, in minutes.
    minutes: [u64; 2],
    run: fn(bool) -> Running,
}

type Running = Pin<Box<dyn Future<Output = anyhow::Result<Vec<Row>>>>>;

/// All of them, in the order in which they run: one at a time, for they measure.
pub const CASES: &[Case] = &[
    case("F01", "roll-outs of two replicas under load", [4, 25], |long| Box::pin(roll_outs::run(long))),
    case("F02", "connections that rest, and a drain that waits for them", [3, 3], |_| {
        Box::pin(resting::run())
    }),
    case("F03", "SIGKILL to one of two replicas under load", [1, 1], |_| Box::pin(killed::run())),
    case("F06", "one replica becomes three under load", [24, 24], |_| Box::pin(scale::run())).only_long(),
    case("F09", "twice and four times as many calls as there is time for", [3, 8], |long| {
        Box::pin(overload::run(long))
    }),
    case("A01", "bodies of a byte too many", [1, 1], |_| Box::pin(too_large::run())),
    case("A03", "1,000 uploads of 8 MiB at once", [3, 3], |_| Box::pin(uploads::run())),
    case("A04", "5,000 connections with slow heads", [2, 2], |_| Box::pin(strangers::slow_heads())),
    case("A05", "5,000 connections with slow bodies", [2, 2], |_| Box::pin(strangers::slow_bodies())),
    case("A06", "5,000 connections that are silent", [2, 2], |_| Box::pin(strangers::silent())),
    case("A07", "2,000 handshakes a second of strangers", [1, 1], |_| Box::pin(strangers::handshakes())),
    case("A11", "10,000 malformed reviews", [1, 1], |_| Box::pin(malformed::run())),
    case("F14", "first starts of three replicas at once, on real API servers", [4, 30], |long| {
        Box::pin(first_starts::run(long))
    }),
    case("F15", "leaves that are renewed under load, on real API servers", [5, 45], |long| {
        Box::pin(rotations::renewals(long))
    }),
    case("F16", "CAs that are replaced under load, on real API servers", [8, 60], |long| {
        Box::pin(rotations::authorities(long))
    }),
    case("F12", "replicas that reach no API server while they serve", [4, 15], |long| {
        Box::pin(cut_off::run(long))
    })
    .only_long(),
    case("steady", "1,000 calls a second, and memory that may not grow", [2, 12], |long| {
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

/// The case of that name, in whatever letters.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static Case, String> {
    let known = || CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
    let found = CASES.iter().find(|case| case.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("there are {}", known()))
}

impl Case {
    /// Runs it to its end, or to the end of its time, which is `end` at the latest; with all of its counts where it may be
    /// `long`.
    async fn run(&self, long: bool, end: Instant) -> Vec<Row> {
        let bound = Duration::from_secs(60 * self.minutes[usize::from(long)]);
        let left = end.saturating_duration_since(Instant::now());
        let ran = if left.is_zero() {
            Err(anyhow!("not run: the time that all cases have together was over"))
        } else {
            timeout(bound.min(left), (self.run)(long)).await.unwrap_or_else(|_| match left < bound {
                true => Err(anyhow!("the time that all cases have together was over")),
                false => Err(anyhow!("it takes longer than {} minutes", bound.as_secs() / 60)),
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
