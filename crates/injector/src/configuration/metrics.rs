//! The metrics of a configuration.

use std::fmt;
use std::time::SystemTime;

use vestibule::prometheus_client::collector::Collector;
use vestibule::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use vestibule::prometheus_client::metrics::MetricType;
use vestibule::prometheus_client::metrics::gauge::ConstGauge;
use vestibule::prometheus_client::registry::Unit;

use super::Configuration;
use super::snapshot::{Snapshot, SnapshotState};

/// The metrics of the rules in force, of the last reload, of lagging pods and of outcomes.
pub(crate) struct ConfigurationCollector(pub(crate) Configuration);

impl Collector for ConfigurationCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = self.0.current();
        encode_reload(&snapshot, &mut encoder)?;
        self.0.lagging.encode(&snapshot, &mut encoder)?;
        self.0.outcomes.encode(&snapshot, &mut encoder)
    }
}

/// The hash of the rules in force, and the outcome of the last reload.
fn encode_reload(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "The rules in force, by the hash of their contents.";
    encoder
        .encode_descriptor("vestibule_config", help, None, MetricType::Info)?
        .encode_info(&[("hash", snapshot.rules().hash())])?;
    let mut gauge = |name, help, unit, value: u64| {
        ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?)
    };
    let is_current = u64::from(snapshot.state() == SnapshotState::Current);
    let help = "Whether the rules in force are the newest ones, all of them.";
    gauge("vestibule_config_last_reload_success", help, None, is_current)?;
    let since = snapshot.since().and_then(|since| since.duration_since(SystemTime::UNIX_EPOCH).ok());
    let Some(since) = since else { return Ok(()) };
    let help = "When the newest rules were last all good, in Unix time.";
    let name = "vestibule_config_last_reload_success_timestamp";
    gauge(name, help, Some(&Unit::Seconds), since.as_secs())
}

impl fmt::Debug for ConfigurationCollector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ConfigurationCollector")
    }
}
