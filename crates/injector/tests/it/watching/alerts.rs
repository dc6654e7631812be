//! deploy/alerts.yaml, and a page for each alert.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Known, path, read};

const PAGES: &str = "docs/how-to/alerts";

fn alerts() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&read("deploy/alerts.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap().clone();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn name(alert: &Value) -> &str {
    alert["alert"].as_str().unwrap()
}

#[test]
fn each_alert_uses_metrics_that_exist() {
    let known = Known::all();
    for alert in alerts() {
        let query = alert["expr"].as_str().unwrap();
        let missing = known.missing(query);
        assert!(missing.is_empty(), "{} asks for {missing:?}, which is not served", name(&alert));
        let labels = known.labels(query);
        let said = alert["annotations"]["description"].as_str().unwrap();
        for used in said.split("$labels.").skip(1) {
            let label: String =
                used.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
            assert!(labels.contains(&label), "{} says {label}, which it has not", name(&alert));
        }
    }
}

#[test]
fn each_alert_has_a_page_that_says_what_it_means_and_what_to_type() {
    let alerts = alerts();
    assert!(alerts.len() >= 18, "{}", alerts.len());
    let index = read(&format!("{PAGES}/README.md"));
    for alert in &alerts {
        let name = name(alert);
        let said = |member: &str| alert["annotations"][member].as_str().unwrap_or_default().trim();
        assert!(!said("description").is_empty(), "{name}");
        assert!(["warning", "critical"].contains(&alert["labels"]["severity"].as_str().unwrap()), "{name}");
        assert_eq!(said("runbook"), format!("{PAGES}/{name}.md"), "{name}");
        let page = read(said("runbook"));
        assert!(
            page.starts_with(&format!("# {name}\n\n**{}.**", said("summary"))),
            "{name}: the page says something else"
        );
        assert!(page.contains("## What to type") && page.contains('`'), "{name}");
        assert!(index.contains(&format!("[{name}]({name}.md)")), "{name} is not in the index");
    }
    let names: BTreeSet<_> = alerts.iter().map(|alert| format!("{}.md", name(alert))).collect();
    let pages = std::fs::read_dir(path(PAGES)).unwrap();
    let pages: BTreeSet<_> = pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    let orphans: Vec<_> = pages.difference(&names).filter(|page| *page != "README.md").collect();
    assert!(orphans.is_empty(), "{orphans:?} are pages of no alert");
}

/// Each alert has a test for promtool, which `cargo xtask check alerts` runs.
#[test]
fn each_alert_is_tried_out() {
    let tests: Value = serde_saphyr::from_str(&read("deploy/alerts.test.yaml")).unwrap();
    let tried: BTreeSet<_> = tests["tests"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|test| test["alert_rule_test"].as_array().unwrap())
        .filter(|test| test["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty()))
        .map(|test| test["alertname"].as_str().unwrap().to_owned())
        .collect();
    let alerts: BTreeSet<_> = alerts().iter().map(|alert| name(alert).to_owned()).collect();
    assert_eq!(tried, alerts);
}

/// Every command on the pages exists.
#[test]
fn commands_of_the_pages_exist() {
    let reference = read("docs/reference/vestibule.md") + &read("docs/reference/command-line.md");
    let mut typed = 0;
    for page in std::fs::read_dir(path(PAGES)).unwrap() {
        let page = page.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap();
        for rest in text
            .split("vestibule ")
            .skip(1)
            .filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_lowercase()))
        {
            let command = rest.split(['`', '|', '\n']).next().unwrap();
            let words: Vec<_> = command.split_whitespace().collect();
            let name = if words[0] == "certs" { words[..2].join(" ") } else { words[0].to_owned() };
            let (_, section) = reference
                .split_once(&format!("\n## `{name}`"))
                .unwrap_or_else(|| panic!("{}: {command}", page.display()));
            let section = section.split("\n## ").next().unwrap();
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let is_there = [' ', '`'].iter().any(|end| reference.contains(&format!("{flag}{end}")));
                assert!(
                    is_there && (section.contains(flag) || name == "manifests"),
                    "{}: {command}",
                    page.display()
                );
            }
            typed += 1;
        }
    }
    assert!(typed >= 10, "{typed}");
}
