//! Follows the ConfigMap of log levels.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use tokio::time::timeout;
use vestibule::{Watch, Watched};

use super::Logs;
use super::level_config::LevelConfig;

/// The end of a temporary level is checked this often against the wall clock, which may be set, or stop while a machine
/// sleeps.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Applies the levels of the ConfigMap `name` as it changes. Without one, the levels of the process's start hold; while
/// it cannot be watched, the last levels. `report` is called with invalid values.
pub(crate) async fn follow(
    logs: &Logs,
    client: &Client,
    (namespace, name): (&str, &str),
    app: &str,
    report: impl Fn(&str),
) -> Infallible {
    let only = Watch::<ConfigMap>::new().namespace(namespace).fields(format!("metadata.name={name}"));
    let mut watched = Watched::start(client, only);
    let (mut wanted, mut data) = (LevelConfig::default(), BTreeMap::new());
    let mut next = None;
    loop {
        let limit = if next.is_some() { CHECK_INTERVAL } else { Duration::MAX };
        // Without a change, a temporary level may have ended.
        let _timed_out = timeout(limit, watched.changed()).await;
        if let Ok(config_maps) = watched.lookup(Instant::now()).everywhere().list() {
            let now = config_maps.first().and_then(|map| map.data.clone()).unwrap_or_default();
            if now != data {
                data = now;
                let (read, bad) = LevelConfig::read(&wanted, app, &data, Timestamp::now());
                wanted = read;
                for (key, why) in bad {
                    let text = format!(
                        "the ConfigMap {name} has an invalid log level in `{key}`, and the level before it stays in \
                         force: {why}"
                    );
                    tracing::warn!("{text}");
                    report(&text);
                }
            }
        }
        next = logs.apply(&wanted, Timestamp::now());
    }
}
