//! Metrics of readiness, and of the use of limits.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use vestibule_server::{Held, Load};

use super::family::Sample;
use super::vocabulary::{HELD, LIMIT, READY, THREADS};

/// Whether hooks are called now.
pub(crate) type Ready = Box<dyn Fn() -> bool + Send + Sync>;

/// Read at each scrape.
pub(super) struct ServerGauges {
    pub(super) load: Load,
    pub(super) ready: Ready,
}

impl Collector for ServerGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        READY.write(&mut encoder, [Sample::new(f64::from(u8::from((self.ready)())))])?;
        let held = self.load.now();
        let of_each = |number: fn(&Held) -> u64| {
            held.iter().map(move |held| Sample::new(number(held) as f64).label("what", held.what))
        };
        HELD.write(&mut encoder, of_each(|held| held.now))?;
        LIMIT.write(&mut encoder, of_each(|held| held.limit))?;
        THREADS.write(&mut encoder, [Sample::new(self.load.threads() as f64)])
    }
}

impl fmt::Debug for ServerGauges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerGauges")
    }
}
