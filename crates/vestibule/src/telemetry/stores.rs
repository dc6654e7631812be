//! What lookups keep in memory.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::lookup::{Lookups, StoreState};

/// Asked when metrics are.
pub(super) struct StoreGauges(pub(super) Lookups);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: String,
}

impl Collector for StoreGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut write = |name, help, value: fn(&dyn StoreState) -> i64| {
            let mut stores = self.0.stores().peekable();
            if stores.peek().is_none() {
                return Ok(());
            }
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            stores.try_for_each(|store| {
                let labels = OfKind { kind: store.title().to_owned() };
                ConstGauge::new(value(store)).encode(metric.encode_family(&labels)?)
            })
        };
        write("store_ready", "Whether the first list of a watch has been read.", |store| {
            i64::from(store.missing().is_none())
        })?;
        write("store_objects", "Objects that a watch keeps in memory.", |store| {
            store.objects().and_then(|objects| i64::try_from(objects).ok()).unwrap_or_default()
        })
    }
}

impl fmt::Debug for StoreGauges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreGauges")
    }
}
