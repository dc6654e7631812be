//! docs/reference/metrics.md.

use std::collections::BTreeSet;
use std::time::Duration;

use vestibule_injector::Namespaces;
use vestibule_rules::Reason;

use super::all_rows;
use super::openmetrics::Exposition;
use super::rows::{Row, rows};
use crate::fixture::{from_folder, injector};
use crate::reporting::fixture::{RULES, call, conflicting, injector_on_cluster};

/// The test of the framework's telemetry does this for its own part of the page.
#[tokio::test]
async fn the_page_is_what_is_served() {
    let (on_cluster, _cluster) = injector_on_cluster(RULES).await;
    call(&on_cluster, conflicting("web"), false).await;
    // Only files and ConfigMaps are reloaded.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rules.yaml"), RULES).unwrap();
    let counting = from_folder(folder.path()).unwrap().counting_lagging_pods(Duration::from_secs(600));
    let of_files = injector(counting, Namespaces::unknown()).await;
    let pages = [on_cluster.page("/metrics").await, of_files.page("/metrics").await];
    let served =
        pages.each_ref().map(|page| Exposition::read(page.split_once("\r\n\r\n").unwrap().1).unwrap());
    let all = all_rows();
    for family in served.iter().flat_map(Exposition::families) {
        let row = all.iter().find(|row| row.family() == family.name);
        row.unwrap_or_else(|| panic!("{} is not on the page", family.name)).fits(family);
    }
    let own = rows("Of the injector besides");
    let is_served = |name: &str| served.iter().any(|served| served.family(name).is_some());
    let missing: Vec<_> = own.iter().map(Row::family).filter(|name| !is_served(name)).collect();
    assert!(missing.is_empty(), "{missing:?} of the page are not served");
    let reasons = own.iter().find_map(|row| row.labels.get("reason")?.clone()).unwrap();
    let known = Reason::ALL.iter().map(|reason| reason.as_str().to_owned());
    assert_eq!(reasons, known.chain([String::new()]).collect::<BTreeSet<_>>());
}
