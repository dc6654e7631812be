//! Rows about memory after a load: an idle process returns to the memory that it had before the load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use webhook_load::Load;

use super::Row;
use super::fixture::{hook, mebibytes, review};
use crate::rig::{Memory, Process};

/// Memory that the allocator may keep after the first load, in KiB.
const SLACK: u64 = 4 << 10;
/// Memory that the allocator may keep in addition after the same load again, in KiB.
const MORE_SLACK: u64 = 1 << 10;
/// The normal fluctuation of allocated memory of an idle process, in bytes.
const FLUCTUATION: usize = 4 << 10;
/// The limit until the server has closed connections whose clients are gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// The memory and descriptors of a process.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    memory: Memory,
    /// Bytes that the program has allocated and not freed.
    not_freed: usize,
}

/// Measures the process now.
pub(super) fn measure(server: &Process) -> anyhow::Result<Usage> {
    Ok(Usage { memory: server.memory()?, not_freed: server.allocated()? })
}

/// Measures the process after 5,000 ordinary calls, so that one-time allocations are part of the baseline.
pub(super) async fn warm_up(server: &Process) -> anyhow::Result<Usage> {
    let caller = [server.caller()?];
    Load::closed(25).calls(5_000).run(&caller, &hook("label"), &[review()?]).await;
    drop::<[Arc<_>; 1]>(caller);
    sleep(Duration::from_secs(1)).await;
    measure(server)
}

/// Waits until the process is as small as `before` the load; the row fails if it does not get there.
pub(super) async fn compare(case: &'static str, server: &Process, before: Usage) -> anyhow::Result<Row> {
    row(case, "the same process when all have left", server, before, SLACK).await
}

/// The same after a repetition of the load; `before` is the usage after the first load.
pub(super) async fn compare_after_repeat(
    case: &'static str,
    server: &Process,
    before: Usage,
) -> anyhow::Result<Row> {
    row(case, "the same process when as many have come and left again", server, before, MORE_SLACK).await
}

async fn row(
    case: &'static str,
    done: &str,
    server: &Process,
    before: Usage,
    slack: u64,
) -> anyhow::Result<Row> {
    let is_back = |now: &Usage| {
        now.memory.resident <= before.memory.resident + slack
            && now.memory.descriptors <= before.memory.descriptors
            && now.not_freed <= before.not_freed + FLUCTUATION
    };
    let began = Instant::now();
    let mut last = measure(server)?;
    while !is_back(&last) && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(200)).await;
        last = measure(server)?;
    }
    let row = Row::of(case, done);
    let row = row.seen(format!(
        "before: {}; {:.1} s after: {}",
        words(&before),
        began.elapsed().as_secs_f64(),
        words(&last)
    ));
    let grown = last.memory.resident.saturating_sub(before.memory.resident);
    let not_freed = last.not_freed.saturating_sub(before.not_freed) >> 10;
    Ok(row.judged(
        format!("{} more resident, {not_freed} KiB more not freed", mebibytes(grown)),
        format!("{} and {} KiB more, no descriptor", mebibytes(slack), FLUCTUATION >> 10),
        is_back(&last),
    ))
}

fn words(Usage { memory, not_freed }: &Usage) -> String {
    let resident = mebibytes(memory.resident);
    format!("{resident} resident, {} KiB not freed, {} descriptors", not_freed >> 10, memory.descriptors)
}
