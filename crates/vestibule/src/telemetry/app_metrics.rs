//! Metrics that an app adds.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{MetricFamily, Sample};

/// A metric that an app adds by [`App::metric`](crate::App::metric), read at each scrape.
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

impl Metric {
    /// A metric whose values `read` returns at each scrape.
    pub fn new(family: MetricFamily, read: impl Fn() -> Vec<Sample> + Send + Sync + 'static) -> Self {
        Self { family, read: Arc::new(read) }
    }

    /// A gauge `vestibule_NAME`, with labels that [`App::metric_families`](crate::App::metric_families) does not list.
    pub fn gauge(
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Self {
        Self::new(MetricFamily::gauge(name, help), read)
    }

    /// A counter `vestibule_NAME_total`, with labels that [`App::metric_families`](crate::App::metric_families) does not list.
    pub fn counter(
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Self {
        Self::new(MetricFamily::counter(name, help), read)
    }
}

/// The metrics of one app.
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
