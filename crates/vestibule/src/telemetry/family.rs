//! The description of a metric: name, type, unit, labels, help.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Metric, Registry, Unit};

/// The prefix of all names, apart from the names that every process has.
const PREFIX: &str = "vestibule_";

/// A metric family of OpenMetrics: name, type, unit, labels and help text.
///
/// ```
/// use vestibule::{MetricFamily, MetricLabel};
///
/// const KINDS: MetricLabel = MetricLabel::closed("kind", &["required", "optional"]);
/// const AGE: MetricFamily = MetricFamily::gauge("prices_age", "How old the price list is").seconds().labels(&[KINDS]);
///
/// assert_eq!(AGE.name(), "vestibule_prices_age_seconds");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct MetricFamily {
    prefix: &'static str,
    name: &'static str,
    kind: MetricKind,
    unit: Option<MetricUnit>,
    labels: &'static [MetricLabel],
    help: &'static str,
}

/// A label with its values. Each combination of values makes a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct MetricLabel {
    name: &'static str,
    values: MetricValues,
}

/// The values of a label. They never come from a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricValues {
    /// Only these.
    Closed(&'static [&'static str]),
    /// One for each item of a set that the installation decides, named in words: `hook`.
    OfEach(&'static str),
}

/// The types of metrics, by the names of OpenMetrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// Only goes up: the sample's name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by size: `_bucket`, `_count`, `_sum`.
    Histogram,
    /// Always 1; the information is in the labels. The sample's name ends in `_info`.
    Info,
}

/// The units of metrics: base units only, as Prometheus recommends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricUnit {
    /// Seconds; points in time are Unix time.
    Seconds,
    /// Bytes.
    Bytes,
}

/// One value of a metric. Every label should have a closed set of values: each combination makes a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: f64,
}

impl MetricFamily {
    /// A counter: `vestibule_NAME_total`.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricKind::Counter, name, help)
    }

    /// A gauge: `vestibule_NAME`.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricKind::Gauge, name, help)
    }

    /// An info metric: `vestibule_NAME_info`.
    pub const fn info(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricKind::Info, name, help)
    }

    pub(super) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self::new(MetricKind::Histogram, name, help)
    }

    const fn new(kind: MetricKind, name: &'static str, help: &'static str) -> Self {
        Self { prefix: PREFIX, name, kind, unit: None, labels: &[], help }
    }

    /// Without the prefix: a metric that every Prometheus client library serves by this name.
    pub(super) const fn of_any_process(self) -> Self {
        Self { prefix: "", ..self }
    }

    /// In seconds: the name gets `_seconds`.
    pub const fn seconds(self) -> Self {
        Self { unit: Some(MetricUnit::Seconds), ..self }
    }

    /// In bytes: the name gets `_bytes`.
    pub const fn bytes(self) -> Self {
        Self { unit: Some(MetricUnit::Bytes), ..self }
    }

    /// With these labels.
    pub const fn labels(self, labels: &'static [MetricLabel]) -> Self {
        Self { labels, ..self }
    }

    /// The name, with its unit and without the endings of samples.
    #[must_use]
    pub fn name(&self) -> String {
        match self.unit {
            Some(unit) => format!("{}{}_{}", self.prefix, self.name, unit.as_str()),
            None => format!("{}{}", self.prefix, self.name),
        }
    }

    /// The names of its samples, as queries use them.
    #[must_use]
    pub fn samples(&self) -> Vec<String> {
        self.kind.endings().iter().map(|ending| format!("{}{ending}", self.name())).collect()
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> MetricKind {
        self.kind
    }

    /// Its unit, if it has one.
    #[must_use]
    pub fn unit(&self) -> Option<MetricUnit> {
        self.unit
    }

    /// Its labels; a histogram has `le` besides.
    pub fn label_set(&self) -> &'static [MetricLabel] {
        self.labels
    }

    /// The help text: a sentence without its full stop.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// The problem of this description, if it has one.
    pub(crate) fn problem(&self) -> Option<String> {
        let is_name = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
                && text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        };
        let name = self.name;
        let endings = ["_total", "_created", "_bucket", "_count", "_sum", "_info"];
        if !is_name(name) {
            return Some(format!("metric `{name}`: a name is made of lower-case letters, digits and `_`"));
        }
        if let Some(ending) = endings.into_iter().find(|ending| name.ends_with(ending)) {
            return Some(format!("metric `{name}`: leave `{ending}` away, it is written where it belongs"));
        }
        let label = self.labels.iter().find(|label| !is_name(label.name) || label.name == "le")?;
        Some(format!("metric `{name}`: `{}` is no name of a label", label.name))
    }

    pub(super) fn register(&self, registry: &mut Registry, metric: impl Metric) {
        let (name, help) = (self.without_unit(), escaped(self.help));
        match self.unit {
            Some(unit) => registry.register_with_unit(name, help, unit.into(), metric),
            None => registry.register(name, help, metric),
        }
    }

    /// Writes the samples; nothing, not even a header, if there are none.
    pub(super) fn write(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        samples: impl IntoIterator<Item = Sample>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let (name, unit) = (self.without_unit(), self.unit.map(Unit::from));
        let help = format!("{}.", escaped(self.help));
        let mut metric = encoder.encode_descriptor(&name, &help, unit.as_ref(), self.kind.into())?;
        for Sample { labels, value } in samples {
            match (self.kind, labels.is_empty()) {
                (MetricKind::Info, _) => metric.encode_info(&labels)?,
                // The only sample of its family: `encode_family` would write empty braces.
                (_, true) => return self.kind.encode(value, metric),
                (_, false) => self.kind.encode(value, metric.encode_family(&labels)?)?,
            }
        }
        Ok(())
    }

    /// The name for prometheus-client, which appends the unit itself.
    fn without_unit(&self) -> String {
        format!("{}{}", self.prefix, self.name)
    }
}

impl Sample {
    /// A value without labels.
    pub fn new(value: f64) -> Self {
        Self { labels: Vec::new(), value }
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.labels.push((name, value.into()));
        self
    }
}

impl MetricLabel {
    /// A label with only these values.
    pub const fn closed(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values: MetricValues::Closed(values) }
    }

    /// A label with a value for each item of a set that the installation decides, such as `hook`.
    pub const fn of_each(name: &'static str, what: &'static str) -> Self {
        Self { name, values: MetricValues::OfEach(what) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its values.
    #[must_use]
    pub fn values(&self) -> MetricValues {
        self.values
    }
}

impl MetricKind {
    /// Writes whole numbers without a fraction.
    fn encode(self, value: f64, encoder: MetricEncoder<'_>) -> fmt::Result {
        let whole = (value.fract() == 0.0 && value.abs() < 1e15).then_some(value as i64);
        match (self, whole) {
            (Self::Counter, Some(whole)) => ConstCounter::new(whole.unsigned_abs()).encode(encoder),
            (Self::Counter, None) => ConstCounter::new(value).encode(encoder),
            (_, Some(whole)) => ConstGauge::new(whole).encode(encoder),
            (_, None) => ConstGauge::new(value).encode(encoder),
        }
    }

    /// The name in OpenMetrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }

    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Counter => &["_total"],
            Self::Gauge => &[""],
            Self::Histogram => &["_bucket", "_count", "_sum"],
            Self::Info => &["_info"],
        }
    }
}

impl MetricUnit {
    /// The ending of the name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
        }
    }
}

impl From<MetricKind> for MetricType {
    fn from(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter => Self::Counter,
            MetricKind::Gauge => Self::Gauge,
            MetricKind::Histogram => Self::Histogram,
            MetricKind::Info => Self::Info,
        }
    }
}

impl From<MetricUnit> for Unit {
    fn from(unit: MetricUnit) -> Self {
        match unit {
            MetricUnit::Seconds => Self::Seconds,
            MetricUnit::Bytes => Self::Bytes,
        }
    }
}

/// prometheus-client does not escape help texts.
fn escaped(help: &str) -> String {
    help.replace('\\', "\\\\").replace('\n', "\\n")
}
