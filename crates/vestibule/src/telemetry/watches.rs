//! For how long the watches of an app have been broken.

use super::app_metrics::Metric;
use super::family::Sample;
use super::vocabulary::WATCH_BROKEN;
use crate::lookup::watch_state::{NamedWatch, WatchState};

/// The metric of all `watches`.
pub(crate) fn metric(watches: Vec<NamedWatch>) -> Metric {
    Metric::new(WATCH_BROKEN, move || {
        let seconds = |state: &WatchState| state.broken().map_or(0.0, |broken| broken.as_secs_f64().floor());
        watches.iter().map(|(of, state)| Sample::new(seconds(state)).label("kind", of)).collect()
    })
}
