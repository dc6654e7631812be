//! A thousand Injections.

use std::time::{Duration, Instant};

use fire::rig::get;
use serde_json::Value;
use vestibule_testenv::Options;

use super::{Cluster, LABEL};
use crate::api;
use crate::cluster::addresses;

const COUNT: usize = 1_000;
const INJECTIONS: &str = "/apis/vestibule.dev/v1alpha1/injections";

#[tokio::test]
async fn a_thousand_rules_come_into_force_with_one_write_of_status_each() {
    let Some(cluster) = Cluster::start(&Options::default().audit()).await else { return };
    let client = cluster.environment.admin().unwrap();
    let rule = |number: usize| {
        LABEL
            .replace("name: label", &format!("name: rule-{number}"))
            .replace("app: web", &format!("app: app-{number}"))
    };
    let rules: Vec<_> = (0..COUNT).map(rule).collect();
    cluster.kubectl(&rules.join("---\n"), "kubectl create -f rule.yaml").exits(0);

    let begun = Instant::now();
    let first = cluster.replica("first").await;
    let _second = cluster.replica("second").await;
    loop {
        let list = api::get(&client, INJECTIONS).await.object();
        let is_in_force = |rule: &&Value| {
            let mut conditions = rule["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|it| it["type"] == "InForce" && it["status"] == "True")
        };
        let in_force = list["items"].as_array().unwrap().iter().filter(is_in_force).count();
        if in_force == COUNT {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{in_force} in force");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let audit = cluster.environment.audit_log().unwrap();
    let writes = |code: u64| {
        let is_write = |event: &&Value| {
            event["verb"] == "patch"
                && event["objectRef"]["subresource"] == "status"
                && event["stage"] == "ResponseComplete"
                && event["responseStatus"]["code"] == code
        };
        audit.iter().filter(is_write).count()
    };
    let (done, refused) = (writes(200), writes(409));
    let page = get(addresses(&first).await.1, "/metrics").await.unwrap();
    let resident = page.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    let resident = resident.unwrap().parse::<f64>().unwrap() / 1024.0 / 1024.0;
    eprintln!("in force after {:?}, {done} writes, {refused} refused, {resident:.0} MiB", begun.elapsed());
    assert!(resident < 128.0, "{resident} MiB");
    // The replicas start one after the other, so some rules were in force on the first alone.
    assert!(done <= 2 * COUNT && refused <= COUNT / 4, "{done} writes, {refused} refused");
}
