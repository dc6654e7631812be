//! docs/reference/metrics.md.

use std::collections::BTreeSet;

use openmetrics::Exposition;
use vestibule_rules::Reason;

use super::rows::{Row, rows};
use super::{all_rows, path, read};
use crate::reporting::fixture::{RULES, call, conflicting, injector_on_cluster};

/// The test of the framework's telemetry does this for its own part of the page.
#[tokio::test]
async fn the_page_is_what_is_served() {
    let (injector, _cluster) = injector_on_cluster(RULES).await;
    call(&injector, conflicting("web"), false).await;
    let page = injector.page("/metrics").await;
    let served = Exposition::read(page.split_once("\r\n\r\n").unwrap().1).unwrap();
    let all = all_rows();
    for family in served.families() {
        let row = all.iter().find(|row| row.family() == family.name);
        row.unwrap_or_else(|| panic!("{} is not on the page", family.name)).fits(family);
    }
    let own = rows("Of the injector besides");
    // Rules that are given once are never reloaded.
    let reloaded = |name: &&str| *name == "vestibule_config_last_reload_success_timestamp_seconds";
    let names = own.iter().map(Row::family).filter(|name| !reloaded(name));
    let missing: Vec<_> = names.filter(|name| served.family(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?} of the page are not served");
    let reasons = own.iter().find_map(|row| row.labels.get("reason")?.clone()).unwrap();
    let known = Reason::ALL.iter().map(|reason| reason.as_str().to_owned());
    assert_eq!(reasons, known.chain([String::new()]).collect::<BTreeSet<_>>());
}

/// Every reason on the page of Events exists in the code, and every reason of the identity is on the page.
#[test]
fn events_on_their_page_are_written() {
    let page = read("docs/reference/events.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let reasons: BTreeSet<_> = rows
        .flat_map(|row| row.split(" | ").next().unwrap().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let mut written = String::new();
    let mut folders: Vec<_> = ["command", "identity", "injector", "vestibule"]
        .map(|room| path(&format!("crates/{room}/src")))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                written.push_str(&std::fs::read_to_string(entry).unwrap());
            }
        }
    }
    let missing: Vec<_> =
        reasons.iter().filter(|reason| !written.contains(&format!("\"{reason}\""))).collect();
    assert!(missing.is_empty(), "{missing:?} are written nowhere");
    let told =
        written.split("Some(\"").skip(1).filter_map(|rest| rest.split_once("\")")).map(|(word, _)| word);
    let of_rings = told.filter(|word| word.starts_with("Ring") && word.chars().all(char::is_alphanumeric));
    let untold: Vec<_> = of_rings.filter(|reason| !reasons.contains(*reason)).collect();
    assert!(untold.is_empty(), "{untold:?} are not on the page");
}
