//! The alerting rules that are shipped.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use vestibule::identity::{Identity, Observer};

use crate::identity::{Staged, app, detailed, happenings};
use crate::served::{Served, options};

const RULES: &str = include_str!("../../../../deploy/alerts.yaml");
const PAGE: &str = include_str!("../../../../docs/how-to/certificate-alerts.md");
const PAGE_PATH: &str = "docs/how-to/certificate-alerts.md#";

fn alerts() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(RULES).unwrap();
    let groups = rules["groups"].as_array().unwrap().clone();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
}

#[test]
fn each_alert_says_what_it_means_and_what_to_do() {
    let alerts = alerts();
    assert_eq!(alerts.len(), 9);
    for alert in &alerts {
        let text = |member: &str| alert["annotations"][member].as_str().unwrap_or_default();
        assert!(!text("summary").is_empty() && !text("description").is_empty(), "{alert}");
        let name = alert["alert"].as_str().unwrap();
        assert_eq!(text("runbook"), format!("{PAGE_PATH}{}", name.to_lowercase()));
        assert!(PAGE.lines().any(|line| line == format!("## {name}")), "{name}");
        assert!(["warning", "critical"].contains(&alert["labels"]["severity"].as_str().unwrap()), "{alert}");
    }
}

#[tokio::test]
async fn alerts_ask_for_metrics_that_there_are() {
    let identity = Arc::new(Staged::default());
    let bundle = identity.renew();
    identity.change(detailed);
    assert!(identity.present().is_some());
    let options = options(identity);
    let counters = options.certificates.clone();
    let served = Served::start_as(app(), options, &bundle).await;
    happenings().iter().for_each(|happening| counters.happened(happening));
    let (_, metrics) = served.probe("/metrics").await;
    let known: BTreeSet<&str> = metrics.lines().flat_map(|line| words(line).next()).collect();

    let mut asked = 0;
    for alert in alerts() {
        let asks = alert["expr"].as_str().unwrap();
        for name in words(asks).filter(|word| word.starts_with("vestibule_")) {
            assert!(known.contains(name), "{name} of {asks} is not in {metrics}");
            asked += 1;
        }
        for label in asks.split(['{', '}']).skip(1).step_by(2) {
            let label = label.replace("!=", "=");
            assert!(metrics.contains(&label), "{label} of {asks} is not in {metrics}");
        }
    }
    assert!(asked >= 9, "{asked}");
    served.stop().await;
}

#[test]
fn promtool_accepts_the_rules() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/alerts.yaml");
    match Command::new("promtool").args(["check", "rules", file]).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        }
        Err(error) => eprintln!("SKIPPED: promtool cannot be run: {error}"),
    }
}
