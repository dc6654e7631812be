//! docs/reference/metrics.md.

use std::collections::BTreeSet;

use openmetrics::Exposition;
use vestibule_rules::Reason;

use super::all_rows;
use super::rows::{Row, rows};
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
