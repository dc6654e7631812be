//! Metrics of the stores of lookups.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::Sample;
use super::vocabulary::{STORE_OBJECTS, STORE_READY};
use crate::lookup::{Lookups, StoreState};

/// Read at each scrape.
pub(super) struct StoreGauges(pub(super) Lookups);

impl Collector for StoreGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let of_each = |value: fn(&dyn StoreState) -> f64| {
            self.0.stores().map(move |store| Sample::new(value(store)).label("kind", store.title()))
        };
        STORE_READY.write(&mut encoder, of_each(|store| f64::from(u8::from(store.missing().is_none()))))?;
        let objects = |store: &dyn StoreState| store.objects().map_or(0.0, |objects| objects as f64);
        STORE_OBJECTS.write(&mut encoder, of_each(objects))
    }
}

impl fmt::Debug for StoreGauges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreGauges")
    }
}
