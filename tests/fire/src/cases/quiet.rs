//! A process that nobody asks for anything: what it holds then must not depend on what was done to it before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use vestibule_caller::load::Load;

use super::Row;
use super::ground::{hook, mebibytes, review};
use crate::rig::{Memory, Process};

/// What allocators keep for later, in KiB.
const SLACK: u64 = 4 << 10;
/// What they may keep beyond that when the same comes once more.
const MORE_SLACK: u64 = 1 << 10;
/// The longest that the server takes to be rid of those who left without a word.
const PATIENCE: Duration = Duration::from_secs(30);

/// What it holds once it has done a little of everything that it does every day.
pub(super) async fn settle(server: &Process) -> anyhow::Result<Memory> {
    let caller = [server.caller()?];
    Load::closed(25).calls(5_000).run(&caller, &hook("label"), &[review()?]).await;
    drop::<[Arc<_>; 1]>(caller);
    sleep(Duration::from_secs(1)).await;
    server.memory()
}

/// Whether it is as small again as it was.
pub(super) async fn after(case: &'static str, server: &Process, before: Memory) -> anyhow::Result<Row> {
    rest(case, "the same process when all have left", server, before, SLACK).await
}

/// Whether what has come once leaves nothing when it has come again: `before` is what the first time left.
pub(super) async fn again(case: &'static str, server: &Process, before: Memory) -> anyhow::Result<Row> {
    rest(case, "the same process when as many have come and left again", server, before, MORE_SLACK).await
}

async fn rest(
    case: &'static str,
    done: &str,
    server: &Process,
    before: Memory,
    slack: u64,
) -> anyhow::Result<Row> {
    let is_back =
        |now: &Memory| now.resident <= before.resident + slack && now.descriptors <= before.descriptors;
    let began = Instant::now();
    let mut now = server.memory()?;
    while !is_back(&now) && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(200)).await;
        now = server.memory()?;
    }
    let row = Row::of(case, done);
    let row = row.seen(format!(
        "before: {}, {} descriptors; {:.1} s after: {}, {} descriptors",
        mebibytes(before.resident),
        before.descriptors,
        began.elapsed().as_secs_f64(),
        mebibytes(now.resident),
        now.descriptors
    ));
    let grown = now.resident.saturating_sub(before.resident);
    Ok(row.judged(
        format!("{} more", mebibytes(grown)),
        format!("{} more, no descriptor", mebibytes(slack)),
        is_back(&now),
    ))
}
