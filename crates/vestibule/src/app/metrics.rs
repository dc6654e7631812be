//! The metrics that an app adds to the framework's.

use super::App;
use crate::telemetry::app_metrics::Metric;
use crate::telemetry::family::MetricFamily;
use crate::telemetry::vocabulary::VOCABULARY;

impl App {
    /// Adds a metric.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metrics.push(metric);
        self
    }

    /// All metrics of this app, the framework's first: for generated documentation, and for tests of alerts and dashboards.
    ///
    /// ```
    /// let served = vestibule::App::new("demo").metric_families();
    /// assert!(served.iter().any(|family| family.name() == "vestibule_admission_requests"));
    /// ```
    #[must_use]
    pub fn metric_families(&self) -> Vec<MetricFamily> {
        VOCABULARY.into_iter().chain(self.metrics.iter().map(|metric| metric.family)).collect()
    }
}
