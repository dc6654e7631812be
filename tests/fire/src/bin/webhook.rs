//! A small webhook as users write them: what `cargo xtask fire` sets on fire.

use std::hint::spin_loop;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use tikv_jemalloc_ctl::{Access, AsName, epoch, stats};
use vestibule::Operation::{Create, Update};
use vestibule::{App, Context, FailurePolicy, Reject, on};

/// Whose memory a crowd has had goes back to the system when it has left; glibc keeps it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long a handler holds its turn.
const WORK: Duration = Duration::from_millis(1);
/// How long one computes that wants a processor all the while.
const COMPUTE: Duration = Duration::from_millis(10);

/// What a handler that looks something up waits for it.
const LOOKUP: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> ExitCode {
    fire::rig::answer_stdin(|| allocated().map_or_else(|error| error.to_string(), |bytes| bytes.to_string()));
    let pods = || on::<Pod>([Create, Update]).failure_policy(FailurePolicy::Fail).timeout_seconds(10);
    let app = App::new("fire").mutate("label", pods(), label).mutate("wait", pods(), wait);
    vestibule_command::run(app.mutate("work", pods(), work).mutate("compute", pods(), compute)).await
}

/// What was allocated and not freed, in Rust and in C, in bytes; what the caches of threads keep of it for later has been freed.
fn allocated() -> tikv_jemalloc_ctl::Result<usize> {
    epoch::advance()?;
    let allocated = stats::allocated::read()?;
    // 4096 stands for all arenas.
    let cached: usize = b"stats.arenas.4096.tcache_bytes\0".name().read()?;
    Ok(allocated.saturating_sub(cached))
}

async fn label(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
    Ok(pod)
}

async fn work(pod: Pod, context: Context) -> Result<Pod, Reject> {
    hold(WORK);
    label(pod, context).await
}

async fn compute(pod: Pod, context: Context) -> Result<Pod, Reject> {
    spin(COMPUTE);
    label(pod, context).await
}

/// Waits, as for a lookup.
async fn wait(pod: Pod, context: Context) -> Result<Pod, Reject> {
    tokio::time::sleep(LOOKUP).await;
    label(pod, context).await
}

/// Holds a turn for as long as work takes, and hardly needs a processor for that, of which callers need nearly all there is.
fn hold(time: Duration) {
    let began = Instant::now();
    // A sleep takes up to a tenth of a millisecond more.
    std::thread::sleep(time.saturating_sub(Duration::from_micros(100)));
    spin(time.saturating_sub(began.elapsed()));
}

/// So much time of a processor.
fn spin(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        spin_loop();
    }
}
