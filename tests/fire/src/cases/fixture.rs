//! The webhook, reviews, limits and texts that several cases share.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_caller::{Hook, Review};
use webhook_load::{Failure, Report};

use crate::rig::{Process, Program};

/// A webhook with these flags and a CA of its own.
pub(super) async fn webhook(flags: &[&str]) -> anyhow::Result<Process> {
    Process::start(Program::Webhook, &Arc::new(tempfile::tempdir()?), flags).await
}

/// A hook of the webhook by name.
pub(super) fn hook(name: &str) -> Hook {
    Hook::mutating(name, &format!("/mutate/{name}"))
}

/// A review of about 2 KiB that creates a pod with two containers.
pub(super) fn review() -> anyhow::Result<Review> {
    Ok(Review::create(pod()).build()?)
}

/// A review of this many bytes that creates a pod; an annotation fills it.
pub(super) fn review_of(bytes: usize) -> anyhow::Result<Review> {
    let filled = |fill: usize| {
        let mut pod = pod();
        pod["metadata"]["annotations"] = json!({ "fill": "x".repeat(fill) });
        Review::create(pod).build()
    };
    let rest = filled(0)?.body().len();
    Ok(filled(bytes.saturating_sub(rest))?)
}

fn pod() -> Value {
    let setting = |number| json!({ "name": format!("SETTING_{number}"), "value": "of some length" });
    let settings: Vec<_> = (0..16).map(setting).collect();
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/{name}:1.2.3"), "env": settings,
            "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } },
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web", "namespace": "fire", "labels": { "app": "web" } },
        "spec": { "containers": [container("app"), container("beside")] },
    })
}

/// The limit of an API server's p99 latency during abuse by other clients.
pub(super) const QUICK: Duration = Duration::from_millis(100);

/// Whether the API server's calls were all admitted, with a p99 latency within [`QUICK`].
pub(super) fn answered_quickly(honest: &Report) -> bool {
    all_admitted(honest) && honest.latency.quantile(0.99) <= QUICK
}

/// Whether at least one call was admitted and none failed.
pub(super) fn all_admitted(report: &Report) -> bool {
    report.admitted > 0 && report.failures() == 0
}

/// Calls that ended with 429 after all retries.
pub(super) fn rejected(report: &Report) -> u64 {
    report.failed.get(&Failure::Status(429)).copied().unwrap_or_default()
}

/// Whether at least 95 % of the calls that were due at this rate were made. Fewer calls prove nothing.
pub(super) fn reached_rate(report: &Report, rate: f64) -> bool {
    report.called as f64 >= 0.95 * rate * report.took.as_secs_f64()
}

/// A report in one line.
pub(super) fn summary(report: &Report) -> String {
    let mut summary = format!("{} calls, {} admitted", report.called, report.admitted);
    for (failure, count) in &report.failed {
        summary += &format!(", {count} x {failure}");
    }
    summary + &format!(", p99 {}", millis(report.latency.quantile(0.99)))
}

/// Formats a duration in milliseconds.
pub(super) fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Formats a size in MiB.
pub(super) fn mebibytes(kibibytes: u64) -> String {
    format!("{:.1} MiB", kibibytes as f64 / 1024.0)
}
