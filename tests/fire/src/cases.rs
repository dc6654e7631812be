//! The cases of `cargo xtask fire`: one to a file, each with the faults that it stands for.

mod ground;
mod roll_outs;
mod row;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use anyhow::anyhow;
use tokio::time::timeout;

pub use row::Row;

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

type Running = Pin<Box<dyn Future<Output = anyhow::Result<Vec<Row>>> + Send>>;

/// All of them, in the order in which they run: one at a time, for they measure.
pub const CASES: &[Case] = &[Case {
    name: "F01",
    about: "roll-outs of two replicas under load",
    long: false,
    minutes: [4, 25],
    run: |long| Box::pin(roll_outs::run(long)),
}];

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
    /// Runs it to its end, or to the end of its time; with all of its counts where it may be `long`.
    pub async fn run(&self, long: bool) -> Vec<Row> {
        let bound = Duration::from_secs(60 * self.minutes[usize::from(long)]);
        let ran = match timeout(bound, (self.run)(long)).await {
            Ok(ran) => ran,
            Err(_) => Err(anyhow!("it takes longer than {} minutes", bound.as_secs() / 60)),
        };
        ran.unwrap_or_else(|error| vec![Row::broken(self.name, self.about, &error)])
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<4} {}{}", self.name, self.about, if self.long { " (--long)" } else { "" })
    }
}
