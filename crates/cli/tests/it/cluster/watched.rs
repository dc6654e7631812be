//! The Event of `docs/how-to/watch.md`.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;

use super::{Cluster, JSON, send};

const PAGE: &str = include_str!("../../../../../docs/how-to/watch.md");

#[tokio::test]
async fn who_does_not_get_what_they_asked_for_is_told() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("sidecar-injector", "enabled")]).await;
    let (_, job) = PAGE.split_once("```yaml job.yaml\n").unwrap();
    let documents = vestibule_rules::yaml::read("job.yaml", job.split_once("```").unwrap().0).unwrap();
    let job: Value = serde_json::from_str(&documents[0].to_json()).unwrap();
    cluster.create(&namespace, &job).await.object();

    let uri = format!("/api/v1/namespaces/{namespace}/events?fieldSelector=reason%3DInjectionSkipped");
    let end = Instant::now() + Duration::from_secs(60);
    let event = loop {
        let list = send(&cluster.client, Method::GET, &uri, JSON, &Value::Null).await.object();
        if let Some(event) = list["items"].get(0) {
            break event.clone();
        }
        assert!(Instant::now() < end, "nobody was told");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(event["involvedObject"]["kind"], "Job");
    assert_eq!(event["involvedObject"]["name"], "report");
    let said = ["type", "reason", "message"].map(|key| event[key].as_str().unwrap()).join("   ");
    // The page's injector lives in `webhooks`.
    let (words, place) = said.split_once("(ConfigMap ").unwrap();
    let said = format!("{words}(ConfigMap webhooks/{}", place.split_once('/').unwrap().1);
    assert!(PAGE.contains(&said), "{said}\nis not on the page");
}
