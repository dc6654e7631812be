//! What an app measures itself.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::MetricFamily;

/// A metric of the app's own, read whenever somebody asks for metrics. [`App::metric`] takes it.
///
/// ```
/// use vestibule::{App, Metric, MetricFamily, MetricLabel, Sample};
///
/// const RULES: MetricFamily =
///     MetricFamily::gauge("rules", "Rules in force").labels(&[MetricLabel::closed("kind", &["required", "optional"])]);
///
/// let rules = Metric::new(RULES, || vec![Sample::new(3.0).label("kind", "required")]);
/// let app = App::new("demo").metric(rules);
/// ```
#[derive(Clone)]
pub struct Metric {
    pub(crate) family: MetricFamily,
    read: Arc<dyn Fn() -> Vec<Sample> + Send + Sync>,
}

/// One value of a [`Metric`]. Every label should have a closed set of values: each makes a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: f64,
}

impl Metric {
    /// The values of `family` are what `read` says, each time anew.
    pub fn new(family: MetricFamily, read: impl Fn() -> Vec<Sample> + Send + Sync + 'static) -> Self {
        Self { family, read: Arc::new(read) }
    }

    /// What goes up and down, with labels that nobody is told of: `vestibule_NAME`.
    pub fn gauge(
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Self {
        Self::new(MetricFamily::gauge(name, help), read)
    }

    /// What only goes up, with labels that nobody is told of: `vestibule_NAME_total`.
    pub fn counter(
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Self {
        Self::new(MetricFamily::counter(name, help), read)
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

/// All of an app's.
pub(super) struct AppMetrics(pub(super) Vec<Metric>);

impl Collector for AppMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|metric| metric.family.write(&mut encoder, (metric.read)()))
    }
}

impl fmt::Debug for AppMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AppMetrics")
    }
}
