//! The metrics of a configuration.

use std::time::SystemTime;

use vestibule::{Metric, MetricFamily, MetricLabel, Sample};

use super::Configuration;
use super::snapshot::SnapshotState;

const IN_FORCE: MetricFamily =
    MetricFamily::info("config", "The rules in force, by the hash of their contents")
        .labels(&[MetricLabel::of_each("hash", "set of rules in force, one at a time")]);
const IS_CURRENT: MetricFamily = MetricFamily::gauge(
    "config_last_reload_success",
    "Whether the rules in force are the newest ones, all of them",
);
const SINCE: MetricFamily = MetricFamily::gauge(
    "config_last_reload_success_timestamp",
    "When the newest rules were last all good, in Unix time",
)
.seconds();

impl Configuration {
    /// The hash of the rules in force, and the outcome of the last reload.
    pub(crate) fn metrics(&self) -> [Metric; 3] {
        let [in_force, is_current, since] = [self.clone(), self.clone(), self.clone()];
        [
            Metric::new(IN_FORCE, move || {
                vec![Sample::new(1.0).label("hash", in_force.current().rules().hash())]
            }),
            Metric::new(IS_CURRENT, move || {
                let is_current = is_current.current().state() == SnapshotState::Current;
                vec![Sample::new(f64::from(u8::from(is_current)))]
            }),
            Metric::new(SINCE, move || {
                let since = since.current().since();
                let since = since.and_then(|since| since.duration_since(SystemTime::UNIX_EPOCH).ok());
                since.into_iter().map(|since| Sample::new(since.as_secs_f64().floor())).collect()
            }),
        ]
    }
}
