//! Follows the ConfigMap of log levels.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use tokio::time::timeout;
use vestibule_identity::short_watch;

use super::Logs;
use super::level_config::LevelConfig;
use vestibule::tooling::why_not_watched;

/// The end of a temporary level is checked this often against the wall clock, which may be set, or stop while a machine
/// sleeps.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Applies the levels of the ConfigMap `name` as it changes. Without one, the levels of the process's start hold.
/// `tell` is called with invalid values.
pub(crate) async fn follow(
    logs: &Logs,
    config_maps: Api<ConfigMap>,
    name: &str,
    app: &str,
    tell: impl Fn(&str),
) -> Infallible {
    let mut versions = pin!(watch(config_maps, name));
    let (mut wanted, mut data) = (LevelConfig::default(), BTreeMap::new());
    let mut is_broken = false;
    let mut next = None;
    loop {
        let limit = if next.is_some() { BETWEEN_LOOKS } else { Duration::MAX };
        match timeout(limit, versions.next()).await {
            Ok(Some(Ok(map))) => {
                is_broken = false;
                let now = map.and_then(|map| map.data).unwrap_or_default();
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
                        tell(&text);
                    }
                }
            }
            Ok(Some(Err(error))) => {
                if !is_broken {
                    let why = why_not_watched(error);
                    tracing::warn!(
                        why,
                        "the ConfigMap {name} cannot be watched: the log level stays as it is"
                    );
                }
                is_broken = true;
            }
            Ok(None) => return pending().await,
            // A temporary level may have ended.
            Err(_) => {}
        }
        next = logs.apply(&wanted, Timestamp::now());
    }
}

/// As kube's `watch_object`, with a watch that is restarted after a minute without events.
fn watch(
    config_maps: Api<ConfigMap>,
    name: &str,
) -> impl Stream<Item = Result<Option<ConfigMap>, watcher::Error>> {
    let only = short_watch().fields(&format!("metadata.name={name}"));
    let mut listed = None;
    watcher::watcher(config_maps, only).default_backoff().filter_map(move |event| {
        let seen = match event {
            Ok(Event::Init) => None,
            Ok(Event::InitApply(map)) => {
                listed = Some(map);
                None
            }
            Ok(Event::InitDone) => Some(Ok(listed.take())),
            Ok(Event::Apply(map)) => Some(Ok(Some(map))),
            Ok(Event::Delete(_)) => Some(Ok(None)),
            Err(error) => Some(Err(error)),
        };
        ready(seen)
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;
    use http::{Request, Response};
    use http_body_util::{BodyStream, StreamBody};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// The connection is open, and nothing comes: no event, no bookmark, no end.
    #[tokio::test(start_paused = true)]
    async fn a_silent_watch_of_levels_is_restarted_within_a_minute() {
        let watched = AtomicUsize::new(0);
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [],
                              "metadata": {"resourceVersion": "1"}});
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"loglevel": "debug"},
                             "metadata": {"name": "logging", "resourceVersion": "2"}});
            let said = match is_watch.then(|| watched.fetch_add(1, Ordering::SeqCst)) {
                None => list.to_string(),
                Some(0) => String::new(),
                Some(_) => json!({"type": "ADDED", "object": map}).to_string() + "\n",
            };
            let said = BodyStream::new(Body::from(said.into_bytes()));
            let body =
                if is_watch { said.chain(stream::pending()).left_stream() } else { said.right_stream() };
            async { Ok::<_, io::Error>(Response::new(StreamBody::new(body))) }
        });
        let mut seen = pin!(watch(Api::namespaced(Client::new(service, "home"), "home"), "logging"));
        assert!(seen.next().await.unwrap().unwrap().is_none(), "there is none at first");
        let map = timeout(Duration::from_secs(61), seen.next()).await.unwrap().unwrap().unwrap().unwrap();
        assert_eq!(map.data.unwrap()["loglevel"], "debug");
    }
}
