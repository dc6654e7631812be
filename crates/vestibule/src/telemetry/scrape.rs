//! Metrics whose values are read at each scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

/// Calls `write` at each scrape.
pub(super) fn at_each_scrape(
    registry: &mut Registry,
    write: impl Fn(&mut Scrape<'_>) -> fmt::Result + Send + Sync + 'static,
) {
    registry.register_collector(Box::new(AtEachScrape(write)));
}

/// Writes gauges into the page of one scrape.
pub(super) struct Scrape<'e>(pub(super) DescriptorEncoder<'e>);

struct AtEachScrape<F>(F);

impl<F> Collector for AtEachScrape<F>
where
    F: Fn(&mut Scrape<'_>) -> fmt::Result + Send + Sync + 'static,
{
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut Scrape(encoder))
    }
}

impl<F> fmt::Debug for AtEachScrape<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AtEachScrape")
    }
}

impl Scrape<'_> {
    /// Writes a gauge without labels; nothing, not even a header, if it has no value.
    pub(super) fn gauge(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        value: impl Into<Option<f64>>,
    ) -> fmt::Result {
        match value.into() {
            Some(value) => encode(value, self.header(name, unit, help)?),
            None => Ok(()),
        }
    }

    /// Writes a gauge with one sample for each label set; nothing, not even a header, if there are none.
    pub(super) fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        samples: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.header(name, unit, help)?;
        samples.try_for_each(|(labels, value)| encode(value, metric.encode_family(&labels)?))
    }

    fn header<'s>(
        &'s mut self,
        name: &'s str,
        unit: Option<&'s Unit>,
        help: &str,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, &format!("{help}."), unit, MetricType::Gauge)
    }
}

/// Writes whole numbers without a fraction.
fn encode(value: f64, encoder: MetricEncoder<'_>) -> fmt::Result {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        ConstGauge::new(value as i64).encode(encoder)
    } else {
        ConstGauge::new(value).encode(encoder)
    }
}
