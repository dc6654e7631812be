//! Gauges of readiness, of the use of limits, and of the watches of lookups.

use prometheus_client::registry::{Registry, Unit};
use vestibule_server::{LimitUsage, Usage};

use super::scrape::at_each_scrape;
use crate::lookup::watch_state::NamedWatch;
use crate::lookup::{Lookups, StoreState};

/// `is_ready` says whether hooks are called now.
pub(crate) fn register_server(
    registry: &mut Registry,
    usage: Usage,
    is_ready: impl Fn() -> bool + Send + Sync + 'static,
) {
    at_each_scrape(registry, move |scrape| {
        scrape.gauge(
            "vestibule_ready",
            None,
            "Whether `/readyz` answers 200, apart from a drain; its text has the missing condition",
            number(is_ready()),
        )?;
        let usages = usage.now();
        let of_each = |amount: fn(&LimitUsage) -> u64| {
            usages.iter().map(move |usage| ([("what", usage.what)], amount(usage) as f64))
        };
        let help = "The current use of a limited resource";
        scrape.gauges("vestibule_server_held", None, help, of_each(|usage| usage.now))?;
        scrape.gauges(
            "vestibule_server_limit",
            None,
            "The limit of that resource",
            of_each(|usage| usage.limit),
        )?;
        scrape.gauge(
            "vestibule_worker_threads",
            None,
            "Threads that calls are read, decided and answered on; large bodies have others",
            usage.threads() as f64,
        )
    });
}

/// Registers the gauges of watches. `watches` contains the watches of `lookups` and the watches that the author started.
pub(crate) fn register_watches(registry: &mut Registry, lookups: Lookups, watches: Vec<NamedWatch>) {
    at_each_scrape(registry, move |scrape| {
        let of_each = |value: fn(&dyn StoreState) -> f64| {
            lookups.stores().map(move |store| ([("kind", store.title())], value(store)))
        };
        scrape.gauges(
            "vestibule_store_ready",
            None,
            "Whether the first list of a watch has been read",
            of_each(|store| number(store.missing().is_none())),
        )?;
        scrape.gauges(
            "vestibule_store_objects",
            None,
            "Objects that a watch keeps in memory",
            of_each(|store| store.objects().map_or(0.0, |objects| objects as f64)),
        )?;
        let seconds = watches.iter().map(|(kind, state)| {
            let broken = state.broken().map_or(0.0, |broken| broken.as_secs_f64().floor());
            ([("kind", &**kind)], broken)
        });
        let help = "The time since a watch was last answered, if watches fail and objects in memory get out of date; else 0";
        scrape.gauges("vestibule_watch_broken", Some(&Unit::Seconds), help, seconds)
    });
}

fn number(is: bool) -> f64 {
    f64::from(u8::from(is))
}
