//! What an app measures itself.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::App;

/// A metric of the app's own, read whenever somebody asks for metrics. [`App::metric`] takes it.
///
/// ```
/// use vestibule::{App, Metric, Sample};
///
/// let rules = Metric::gauge("rules", "Rules in force", || vec![Sample::new(3.0).label("kind", "required")]);
/// let app = App::new("demo").metric(rules);
/// ```
#[derive(Clone)]
pub struct Metric {
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    read: Arc<dyn Fn() -> Vec<Sample> + Send + Sync>,
}

#[derive(Clone, Copy)]
enum MetricKind {
    Counter,
    Gauge,
}

/// One value of a [`Metric`]. Every label should have a closed set of values: each makes a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    labels: Vec<(&'static str, String)>,
    value: f64,
}

impl MetricKind {
    fn encode(self, value: f64, encoder: MetricEncoder<'_>) -> fmt::Result {
        match self {
            Self::Counter => ConstCounter::new(value).encode(encoder),
            Self::Gauge => ConstGauge::new(value).encode(encoder),
        }
    }
}

impl Metric {
    /// What goes up and down: `vestibule_NAME`.
    pub fn gauge(
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Self {
        Self { name, help, kind: MetricKind::Gauge, read: Arc::new(read) }
    }

    /// What only goes up: `vestibule_NAME_total`.
    pub fn counter(
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Self {
        Self { name, help, kind: MetricKind::Counter, read: Arc::new(read) }
    }
}

impl Sample {
    /// A value without labels.
    pub fn new(value: f64) -> Self {
        Self { labels: Vec::new(), value }
    }

    /// The same with one more label.
    #[must_use]
    pub fn label(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.labels.push((name, value.into()));
        self
    }
}

impl App {
    /// Serves one more metric.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metrics.push(metric);
        self
    }
}

/// All of an app's.
pub(super) struct OwnMetrics(pub(super) Vec<Metric>);

impl Collector for OwnMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Metric { name, help, kind, read } in &self.0 {
            let samples = read();
            if samples.is_empty() {
                continue;
            }
            let of = match kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
            };
            let mut metric = encoder.encode_descriptor(name, help, None, of)?;
            if let [Sample { labels, value }] = &*samples
                && labels.is_empty()
            {
                kind.encode(*value, metric)?;
                continue;
            }
            for Sample { labels, value } in samples {
                kind.encode(value, metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for OwnMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnMetrics")
    }
}
