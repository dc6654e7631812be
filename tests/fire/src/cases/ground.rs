//! What cases stand on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_caller::load::{Failure, Report};
use vestibule_caller::{Hook, Review};

use crate::rig::{Process, Program};

/// A webhook with these flags beside the usual ones, alone in a folder of its own.
pub(super) async fn webhook(flags: &[&str]) -> anyhow::Result<Process> {
    Process::start(Program::Webhook, &Arc::new(tempfile::tempdir()?), flags).await
}

/// One of the webhook's hooks, by its name.
pub(super) fn hook(name: &str) -> Hook {
    Hook::mutating(name, &format!("/mutate/{name}"))
}

/// The creation of a pod as Deployments make them, of about 2 KiB.
pub(super) fn review() -> anyhow::Result<Review> {
    Ok(Review::create(pod()).build()?)
}

/// The creation of a pod so large that the review has this many bytes.
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

/// How long one in a hundred calls of an API server may take while others mean no good.
pub(super) const QUICK: Duration = Duration::from_millis(100);

/// Whether there were calls of an API server at all, and abuse by others took neither answers nor time from them.
pub(super) fn answered(honest: &Report) -> bool {
    is_admitted(honest) && honest.latency.quantile(0.99) <= QUICK
}

/// Whether there were calls, and none failed.
pub(super) fn is_admitted(report: &Report) -> bool {
    report.admitted > 0 && report.failures() == 0
}

/// Calls that were told to come again, and had come often enough.
pub(super) fn turned_away(report: &Report) -> u64 {
    report.failed.get(&Failure::Status(429)).copied().unwrap_or_default()
}

/// Whether as many calls were made as were due at this rate: by fewer nothing is shown.
pub(super) fn is_whole(report: &Report, rate: f64) -> bool {
    report.called as f64 >= 0.95 * rate * report.took.as_secs_f64()
}

/// A report in one line.
pub(super) fn said(report: &Report) -> String {
    let mut said = format!("{} calls, {} admitted", report.called, report.admitted);
    for (failure, count) in &report.failed {
        said += &format!(", {count} x {failure}");
    }
    said + &format!(", p99 {}", millis(report.latency.quantile(0.99)))
}

/// For people.
pub(super) fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// For people.
pub(super) fn mebibytes(kibibytes: u64) -> String {
    format!("{:.1} MiB", kibibytes as f64 / 1024.0)
}
