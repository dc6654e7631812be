//! A steady load over a long time: memory must not grow.

use std::time::Duration;

use webhook_load::{Load, Report};

use super::Row;
use super::fixture::{hook, mebibytes, reached_rate, review, summary, webhook};
use super::memory_after_load;

const RATE: f64 = 1_000.0;
const MOST: u64 = 1 << 10;
/// Concurrent calls before the measurement. When the machine stalls, the calls that became due arrive together on new
/// connections; the memory for this many is allocated once, before the baseline.
const CROWD: usize = 256;
/// Logs a line per call, as by default.
const LOG: &[&str] = &["--log-level", "info"];
const WARM_UP: Duration = Duration::from_secs(10);

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let seconds = if long { 600 } else { 60 };
    let server = webhook(LOG).await?;
    let before = memory_after_load::warm_up(&server).await?;
    let callers = [server.caller()?, server.caller()?, server.caller()?];
    let (hook, review) = (hook("label"), [review()?]);
    let crowd = Load::closed(CROWD).calls(10_000).run(&callers, &hook, &review).await;
    // One-time allocations happen here.
    let warm_up = Load::open(RATE).during(WARM_UP).run(&callers, &hook, &review).await;
    let early = server.memory()?;
    let report = Load::open(RATE).during(Duration::from_secs(seconds)).run(&callers, &hook, &review).await;
    let late = server.memory()?;
    let grown = late.resident.saturating_sub(early.resident);
    let done = format!("{RATE} calls/s for {seconds} s, after {} s more", WARM_UP.as_secs());
    let seen = format!(
        "{}; {} before, {} in the end",
        summary(&report),
        mebibytes(early.resident),
        mebibytes(late.resident)
    );
    let failed = [&crowd, &warm_up, &report].map(Report::failures).iter().sum::<u64>();
    let held = grown < MOST && failed == 0 && reached_rate(&report, RATE);
    let figure = format!("{} more, {failed} failed", mebibytes(grown));
    drop(callers);
    Ok(vec![
        Row::of("steady", done).seen(seen).judged(figure, "1.0 MiB more, 0 failed", held),
        memory_after_load::compare("steady", &server, before).await?,
    ])
}
