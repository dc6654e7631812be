//! Watches of rules that lose events.

use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use vestibule_injector::Configuration;

use super::{TIMEOUT, cache, config_map, in_force};
use crate::cluster::Cluster;

#[tokio::test]
async fn rules_whose_watch_is_cut_within_an_object_are_followed_to_the_newest() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    namespace.create(&config_map("cache", &cache("redis:8.2"))).await.object();
    let (proxy, way) = cluster.environment.api_server().proxied().unwrap();
    let configuration = Configuration::from_cluster(way.admin().unwrap(), namespace.name());
    in_force(&configuration, "redis:8.2").await;

    // No other message of the watch is as large.
    proxy.cut_after(100_000);
    let mut large = config_map("cache", &cache("redis:8.3"));
    large["metadata"]["annotations"] = json!({"large": "x".repeat(200_000)});
    namespace.replace(&large).await.object();
    in_force(&configuration, "redis:8.3").await;
    namespace.replace(&config_map("cache", &cache("redis:8.4"))).await.object();
    in_force(&configuration, "redis:8.4").await;
}

#[tokio::test]
async fn rules_whose_watch_gets_no_bookmarks_are_followed_to_the_newest() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    namespace.create(&config_map("cache", &cache("redis:8.2"))).await.object();
    let (client, mut noted) = without_bookmarks(cluster.client());
    let configuration = Configuration::from_cluster(client, namespace.name());
    in_force(&configuration, "redis:8.2").await;

    let mut next = async || timeout(TIMEOUT, noted.recv()).await.expect("nothing happens").unwrap();
    let begun = next().await;
    // On a crowded machine, a watch may end before its bookmark.
    while !next().await.starts_with(BOOKMARK) {}
    let mut again = next().await;
    while again.starts_with(BOOKMARK) {
        again = next().await;
    }
    assert_eq!(again, begun, "without a bookmark it goes on where it was");
    namespace.replace(&config_map("cache", &cache("redis:8.3"))).await.object();
    in_force(&configuration, "redis:8.3").await;
}

const BOOKMARK: &str = r#"{"type":"BOOKMARK""#;

/// A client that drops all bookmarks, and a list of the requested watches and dropped bookmarks. The API server sends a
/// bookmark two seconds before the end of a watch, and watches are short here.
fn without_bookmarks(client: Client) -> (Client, UnboundedReceiver<String>) {
    let (note, noted) = unbounded_channel();
    let between = tower::service_fn(move |mut request: Request<Body>| {
        let (client, note) = (client.clone(), note.clone());
        let asked = request.uri().to_string();
        let is_watch = asked.contains("watch=true");
        if is_watch {
            *request.uri_mut() = asked.replace("timeoutSeconds=55", "timeoutSeconds=5").parse().unwrap();
            drop(note.send(asked));
        }
        let mut said = Vec::new();
        let mut kept = move |data: &[u8]| {
            said.extend(data);
            let whole = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let lines = String::from_utf8(said.drain(..whole).collect()).unwrap();
            let (lost, kept): (Vec<_>, Vec<_>) =
                lines.split_inclusive('\n').partition(|line| line.starts_with(BOOKMARK));
            lost.into_iter().for_each(|line| drop(note.send(line.to_owned())));
            kept.concat()
        };
        async move {
            let response = client.send(request).await?;
            Ok::<_, kube::Error>(response.map(|body| {
                body.map_frame(move |frame| {
                    frame.map_data(|data| if is_watch { kept(&data).into() } else { data })
                })
            }))
        }
    });
    (Client::new(between, "default"), noted)
}
