//! The exempt users. A test on a real API server checks the selection of namespaces.
#![allow(clippy::unwrap_used)]

mod review;

use reserved_namespaces::{Reservation, app};
use serde_json::json;
use vestibule::App;
use vestibule_test::call;

fn reserved() -> App {
    let list = |item: &str| vec![item.to_owned()];
    app(Reservation { namespaces: list("kube-*"), users: list("operator"), groups: list("admins") })
}

#[tokio::test]
async fn by_name_or_by_a_group() {
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "kube-dns" },
    });
    let app = reserved();
    let create = || call(&app, "exempt-only").create(&config_map);
    create().by("operator").await.assert_allowed();
    create().by("alice").in_group("staff").in_group("admins").await.assert_allowed();
    create()
        .by("mallory")
        .in_group("staff")
        .await
        .assert_denied("kube-dns is reserved, and mallory is not exempt");
    call(&app, "exempt-only").delete(&config_map).by("mallory").await.assert_denied("reserved");
    call(&app, "exempt-only").update(&config_map, &config_map).by("mallory").await.assert_denied("reserved");
}

#[test]
fn the_hook_is_registered_for_reserved_namespaces_only() {
    let target = vestibule::Target::service("platform/reserved").unwrap();
    let configuration = reserved().registration(&target, "").unwrap().validating.unwrap();
    let hook = &configuration.webhooks.unwrap()[0];
    let conditions = hook.match_conditions.as_ref().unwrap();
    assert!(conditions[0].expression.ends_with("exists(name, name.startsWith('kube-'))"));
}
