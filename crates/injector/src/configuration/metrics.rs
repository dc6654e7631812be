//! What is counted of a configuration.

use std::time::SystemTime;

use vestibule::{Metric, Sample};

use super::{Configuration, State};

impl Configuration {
    /// Its hash, and how the last reload went.
    pub(crate) fn metrics(&self) -> [Metric; 3] {
        let [info, success, timestamp] = [self.clone(), self.clone(), self.clone()];
        [
            Metric::gauge("config_info", "The rules in force, by the hash of their contents", move || {
                vec![Sample::new(1.0).label("hash", info.current().rules().hash())]
            }),
            Metric::gauge(
                "config_last_reload_success",
                "Whether the rules in force are the newest ones, all of them",
                move || {
                    let is_current = success.current().state() == State::Current;
                    vec![Sample::new(f64::from(u8::from(is_current)))]
                },
            ),
            Metric::gauge(
                "config_last_reload_success_timestamp_seconds",
                "When the newest rules were last all good, in Unix time",
                move || {
                    let since = timestamp.current().since();
                    let since = since.and_then(|since| since.duration_since(SystemTime::UNIX_EPOCH).ok());
                    since.into_iter().map(|since| Sample::new(since.as_secs_f64().floor())).collect()
                },
            ),
        ]
    }
}
