//! The code of docs/how-to/test-a-webhook.md, compiled and run.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use vestibule::Operation::Create;
use vestibule::admission::Decision;
use vestibule::{App, Context, FailurePolicy, Objects, Reject, Watch, deny, on};

fn app() -> App {
    let pods = on::<Pod>([Create]).namespaces("injection=enabled").failure_policy(FailurePolicy::Fail);
    App::new("proxies").watch(Watch::<ConfigMap>::new()).mutate("inject", pods, inject)
}

async fn inject(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    let Some(proxy) = context.lookup::<ConfigMap>().get("proxy").await? else {
        return Err(deny("this namespace has no ConfigMap `proxy`"));
    };
    let image = proxy.data.as_ref().and_then(|data| data.get("image")).cloned();
    let containers = &mut pod.spec.get_or_insert_default().containers;
    if !containers.iter().any(|container| container.name == "proxy") {
        containers.push(Container { name: "proxy".to_owned(), image, ..Container::default() });
        context.audit("injected", "proxy");
    }
    Ok(pod)
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
    })
}

fn proxy() -> Objects {
    Objects::new().with(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "proxy", "namespace": "default" },
        "data": { "image": "proxy:2" },
    }))
}

#[tokio::test]
async fn a_pod_gets_its_proxy() {
    let outcome = vestibule_test::call(&app(), "inject").create(pod()).by("alice").with(proxy()).await;
    outcome
        .assert_object(|pod: &Pod| assert_eq!(pod.spec.as_ref().unwrap().containers.len(), 2))
        .assert_audited("injected", "proxy")
        .assert_applies()
        .assert_idempotent()
        .assert_keeps_unknown_fields();
}

#[tokio::test]
async fn without_a_configuration_nothing_starts() {
    let outcome = vestibule_test::call(&app(), "inject").create(pod()).with(Objects::new()).await;
    outcome.assert_denied("no ConfigMap `proxy`").assert_code(403);
}

#[tokio::test]
async fn other_namespaces_are_left_alone() {
    let request = vestibule_test::call(&app(), "inject").create(pod()).with(proxy());
    request.namespace_labels([("injection", "disabled")]).await.assert_not_called();
}

#[tokio::test]
async fn the_cases_hold() {
    vestibule_test::golden(&app().lookups_from(proxy()), "tests/golden-how-to").await;
}

#[tokio::test]
async fn the_api_server_calls_the_hook() {
    let Some(cluster) = vestibule_test::Cluster::shared_or_skip().await else { return };
    let installed = cluster.install(app()).await;
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    cluster.apply("tests/manifests-how-to", &namespace).await;

    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
    let pod: Pod = serde_json::from_value(pod()).unwrap();
    let created = pods.create(&PostParams::default(), &pod).await.unwrap();
    assert_eq!(created.spec.unwrap().containers[1].name, "proxy");
    // A token was mounted into the proxy, and so it was asked again.
    let decisions: Vec<_> = installed.reviews("inject").iter().map(|review| review.decision).collect();
    assert_eq!(decisions, [Decision::Mutated(1), Decision::Allowed]);
    assert_eq!(installed.audit_annotations("inject"), [("injected".into(), "proxy".into())]);

    installed.break_with("inject", vestibule_test::Breakage::CutConnection);
    let refused = pods.create(&PostParams::default(), &pod).await.unwrap_err();
    assert!(refused.to_string().contains("failed calling webhook"));
}

#[test]
fn the_page_shows_what_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let (page, tested) = (read("tests/pages/test-a-webhook.md"), read("tests/it/kit/how_to.rs"));
    let blocks = page.split("```rust\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let mut count = 0;
    for (block, _) in blocks {
        assert!(tested.contains(block.trim()), "no test holds this, line by line:\n{block}");
        count += 1;
    }
    assert!(count >= 5, "{count} blocks of Rust");
    assert!(page.contains(read("tests/manifests-how-to/proxy.yaml").trim()));
}
