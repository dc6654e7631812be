//! Many calls over a long time: memory that grows by little each time grows without end.

use std::time::Duration;

use vestibule_caller::load::{Load, Report};

use super::Row;
use super::ground::{hook, is_whole, mebibytes, review, said, webhook};
use super::quiet;

const RATE: f64 = 1_000.0;
const MOST: u64 = 1 << 10;
/// So many calls are under way at once before it counts. Whenever a machine stops for a moment, those that were due meanwhile
/// come together over connections of their own, of which each API server keeps 25: memory for as many as that is made once.
const CROWD: usize = 256;
/// A line for each call, as by default.
const LOG: &[&str] = &["--log-level", "info"];
const WARM_UP: Duration = Duration::from_secs(10);

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let seconds = if long { 600 } else { 60 };
    let server = webhook(LOG).await?;
    let before = quiet::settle(&server).await?;
    let callers = [server.caller()?, server.caller()?, server.caller()?];
    let (hook, review) = (hook("label"), [review()?]);
    let crowd = Load::closed(CROWD).calls(10_000).run(&callers, &hook, &review).await;
    // Whatever is made once is made by then.
    let warm_up = Load::open(RATE).during(WARM_UP).run(&callers, &hook, &review).await;
    let early = server.memory()?;
    let report = Load::open(RATE).during(Duration::from_secs(seconds)).run(&callers, &hook, &review).await;
    let late = server.memory()?;
    let grown = late.resident.saturating_sub(early.resident);
    let done = format!("{RATE} calls/s for {seconds} s, after {} s more", WARM_UP.as_secs());
    let seen = format!(
        "{}; {} before, {} in the end",
        said(&report),
        mebibytes(early.resident),
        mebibytes(late.resident)
    );
    let failed = [&crowd, &warm_up, &report].map(Report::failures).iter().sum::<u64>();
    let held = grown < MOST && failed == 0 && is_whole(&report, RATE);
    let figure = format!("{} more, {failed} failed", mebibytes(grown));
    drop(callers);
    Ok(vec![
        Row::of("steady", done).seen(seen).judged(figure, "1.0 MiB more, 0 failed", held),
        quiet::after("steady", &server, before).await?,
    ])
}
