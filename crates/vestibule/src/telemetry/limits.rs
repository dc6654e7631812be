//! What the server holds, beside its limits.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use vestibule_server::{Held, Load};

use super::Sample;
use super::vocabulary::{HELD, LIMIT};

/// Asked when metrics are.
pub(super) struct LimitGauges(pub(super) Load);

impl Collector for LimitGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let held = self.0.now();
        let of_each = |number: fn(&Held) -> u64| {
            held.iter().map(move |held| Sample::new(number(held) as f64).label("what", held.what))
        };
        HELD.write(&mut encoder, of_each(|held| held.now))?;
        LIMIT.write(&mut encoder, of_each(|held| held.limit))
    }
}

impl fmt::Debug for LimitGauges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LimitGauges")
    }
}
