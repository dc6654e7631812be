//! The metrics that an app adds to the framework's.

use super::App;
use crate::telemetry::app_metrics::Metric;
use crate::telemetry::family::MetricFamily;
use crate::telemetry::vocabulary::VOCABULARY;

impl App {
    /// Serves one more metric.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metrics.push(metric);
        self
    }

    /// Every metric that this app serves, the framework's first: for a page about them, and for tests that hold alerts and
    /// dashboards to it.
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
