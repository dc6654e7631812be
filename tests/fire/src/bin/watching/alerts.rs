//! The alerts of `deploy/alerts.yaml`, and what made each fire.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::prometheus::Prometheus;
use crate::say;

/// The longest wait for an alert. The windows of the expressions are as written, minutes long, but any part of one is enough.
const PATIENCE: Duration = Duration::from_secs(120);

/// Each alert, with the trouble that the run makes for it.
pub(crate) const ALERTS: [(&str, &str); 20] = [
    ("VestibuleNotReady", "a replica whose account has no rights"),
    (
        "VestibuleFailingOpen",
        "the injector is taken out of its Service for six seconds, while pods are created",
    ),
    ("VestibuleUndecided", "a handler that returns errors and panics, for two of five calls"),
    ("VestibuleRefusing", "a client that calls a path that is not served, 40 times a second"),
    ("VestibulePanics", "a handler that panics"),
    ("VestibuleSlow", "a handler that takes 1.2 s"),
    ("VestibuleDenialsJump", "half of all pods break a required rule"),
    ("VestibuleOverloaded", "16 slow calls at a time, with `--max-running 6 --max-waiting 4`"),
    ("VestibuleNearLimit", "the same calls"),
    ("VestibuleRulesNotReloaded", "rules with an error, stored while the injector was out of its Service"),
    ("VestibuleWatchBroken", "the replica whose account has no rights"),
    (
        "VestibuleAuthorityExpiring",
        "a replica with a CA of five days, whose account may read its Secret and its configuration and write neither",
    ),
    ("VestibuleCertificateExpiring", "a mounted certificate that ends in two minutes"),
    ("VestibuleBundleOutOfSync", "the replica with a CA of five days"),
    ("VestibuleBundleContested", "`kubectl patch` writes another `caBundle` eight times"),
    ("VestibuleRotationBlocked", "the replica with a CA of five days"),
    ("VestibuleRotationHeld", "`vestibule certs rotate`, under a `--hold` of a day"),
    ("VestibuleRingDiscontinuity", "the webhook's Secret is deleted"),
    ("VestibuleHandshakesFailing", "a client that sends plain HTTP to the port, twice a second"),
    ("VestibuleClockSkew", "a replica that sees an API server ten minutes ahead"),
];

/// When an alert fired, in seconds after the trouble began.
pub(crate) type Fired = BTreeMap<String, f64>;

/// Waits until every alert has fired, or for two minutes.
pub(crate) async fn wait(prometheus: &Prometheus, trouble: f64) -> anyhow::Result<Fired> {
    let end = Instant::now() + PATIENCE;
    loop {
        let fired = fired(prometheus, trouble).await?;
        let missing: Vec<_> =
            ALERTS.iter().map(|(name, _)| *name).filter(|name| !fired.contains_key(*name)).collect();
        if missing.is_empty() || Instant::now() > end {
            return Ok(fired);
        }
        say(&format!(
            "{} of {} alerts have fired; not yet: {}",
            fired.len(),
            ALERTS.len(),
            missing.join(", ")
        ));
        sleep(Duration::from_secs(5)).await;
    }
}

async fn fired(prometheus: &Prometheus, trouble: f64) -> anyhow::Result<Fired> {
    let mut fired = Fired::new();
    for series in prometheus.query_run("ALERTS{alertstate=\"firing\"}").await? {
        let name = series.labels["alertname"].as_str().unwrap_or_default().to_owned();
        let first = series.samples.first().map_or(0.0, |(at, _)| at - trouble);
        fired.entry(name).and_modify(|known| *known = known.min(first)).or_insert(first);
    }
    Ok(fired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alert_has_a_trouble() {
        let written = include_str!("../../../../../deploy/alerts.yaml");
        let written: Vec<_> =
            written.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: ")).collect();
        assert_eq!(ALERTS.map(|(name, _)| name).to_vec(), written, "in the order of the file");
    }
}
