//! A small webhook like a user's, which the cases of `cargo xtask fire` run against.

use std::hint::spin_loop;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use tikv_jemalloc_ctl::{Access, AsName, epoch, stats};
use vestibule::Operation::{Create, Update};
use vestibule::{App, Context, FailurePolicy, Reject, on};

/// jemalloc returns memory to the system after a load; glibc keeps it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The time for which `work` holds its CPU permit.
const WORK: Duration = Duration::from_millis(1);
/// The CPU time that `compute` uses.
const COMPUTE: Duration = Duration::from_millis(10);

/// The time that `wait` sleeps, like a lookup.
const LOOKUP: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> ExitCode {
    fire::rig::answer_stdin(|| allocated().map_or_else(|error| error.to_string(), |bytes| bytes.to_string()));
    let pods = || on::<Pod>([Create, Update]).failure_policy(FailurePolicy::Fail).timeout_seconds(10);
    let app = App::new("fire").mutate("label", pods(), label).mutate("wait", pods(), wait);
    vestibule_command::run(app.mutate("work", pods(), work).mutate("compute", pods(), compute)).await
}

/// Bytes allocated and not freed, in Rust and in C, without the memory in thread caches.
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

/// Waits like a handler with a lookup.
async fn wait(pod: Pod, context: Context) -> Result<Pod, Reject> {
    tokio::time::sleep(LOOKUP).await;
    label(pod, context).await
}

/// Blocks for `time`, mostly asleep, because the callers need nearly all CPU time.
fn hold(time: Duration) {
    let began = Instant::now();
    // A sleep overshoots by up to 0.1 ms.
    std::thread::sleep(time.saturating_sub(Duration::from_micros(100)));
    spin(time.saturating_sub(began.elapsed()));
}

/// Uses the CPU for `time`.
fn spin(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        spin_loop();
    }
}
