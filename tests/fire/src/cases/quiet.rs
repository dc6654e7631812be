//! A process that nobody asks for anything: what it holds then must not depend on what was done to it before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use vestibule_caller::load::Load;

use super::Row;
use super::ground::{hook, mebibytes, review};
use crate::rig::{Memory, Process};

/// What allocators keep for later, and what they need to know about where memory was, in KiB.
const SLACK: u64 = 4 << 10;
/// What they may keep beyond that when the same comes once more.
const MORE_SLACK: u64 = 1 << 10;
/// What the program itself may have in hand at one moment and not at another, in bytes.
const IN_HAND: usize = 4 << 10;
/// The longest that the server takes to be rid of those who left without a word.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a process that rests holds.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    memory: Memory,
    /// Of that, what the program has not freed, in bytes.
    held: usize,
}

/// What it holds now.
pub(super) fn now(server: &Process) -> anyhow::Result<Rest> {
    Ok(Rest { memory: server.memory()?, held: server.held()? })
}

/// What it holds once it has done a little of everything that it does every day.
pub(super) async fn settle(server: &Process) -> anyhow::Result<Rest> {
    let caller = [server.caller()?];
    Load::closed(25).calls(5_000).run(&caller, &hook("label"), &[review()?]).await;
    drop::<[Arc<_>; 1]>(caller);
    sleep(Duration::from_secs(1)).await;
    now(server)
}

/// Whether it is as small again as it was.
pub(super) async fn after(case: &'static str, server: &Process, before: Rest) -> anyhow::Result<Row> {
    rest(case, "the same process when all have left", server, before, SLACK).await
}

/// Whether what has come once leaves nothing when it has come again: `before` is what the first time left.
pub(super) async fn again(case: &'static str, server: &Process, before: Rest) -> anyhow::Result<Row> {
    rest(case, "the same process when as many have come and left again", server, before, MORE_SLACK).await
}

async fn rest(
    case: &'static str,
    done: &str,
    server: &Process,
    before: Rest,
    slack: u64,
) -> anyhow::Result<Row> {
    let is_back = |now: &Rest| {
        now.memory.resident <= before.memory.resident + slack
            && now.memory.descriptors <= before.memory.descriptors
            && now.held <= before.held + IN_HAND
    };
    let began = Instant::now();
    let mut last = now(server)?;
    while !is_back(&last) && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(200)).await;
        last = now(server)?;
    }
    let row = Row::of(case, done);
    let row = row.seen(format!(
        "before: {}; {:.1} s after: {}",
        words(&before),
        began.elapsed().as_secs_f64(),
        words(&last)
    ));
    let grown = last.memory.resident.saturating_sub(before.memory.resident);
    let held = last.held.saturating_sub(before.held) >> 10;
    Ok(row.judged(
        format!("{} more resident, {held} KiB more not freed", mebibytes(grown)),
        format!("{} and {} KiB more, no descriptor", mebibytes(slack), IN_HAND >> 10),
        is_back(&last),
    ))
}

fn words(Rest { memory, held }: &Rest) -> String {
    let resident = mebibytes(memory.resident);
    format!("{resident} resident, {} KiB not freed, {} descriptors", held >> 10, memory.descriptors)
}
