use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use vestibule_rules::CustomResource;

use super::*;
use crate::Configuration;

/// An API server whose InjectorSettings switch rules of namespaces on. It has the definitions in `defined`, and lists rules of
/// namespaces after `is_open`.
fn cluster(defined: &'static [CustomResource], is_open: &Arc<AtomicBool>) -> Client {
    let is_open = Arc::clone(is_open);
    let service = tower::service_fn(move |request| answer(request, defined, Arc::clone(&is_open)));
    Client::new(service, "injector")
}

async fn answer(
    request: Request<Body>,
    defined: &'static [CustomResource],
    is_open: Arc<AtomicBool>,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    if request.uri().query().unwrap_or_default().contains("watch=true") {
        std::future::pending::<()>().await;
    }
    let list = |items: Value| {
        let metadata = json!({"resourceVersion": "7"});
        Some(json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}))
    };
    let answer = match path.rsplit('/').next().unwrap_or_default() {
        "v1alpha1" => {
            let resource = |one: &CustomResource| {
                json!({"name": one.plural(), "singularName": "", "namespaced": one.is_namespaced(),
                       "kind": one.kind(), "verbs": ["list"]})
            };
            let resources: Vec<Value> = defined.iter().map(resource).collect();
            Some(json!({"kind": "APIResourceList", "groupVersion": "vestibule.dev/v1alpha1",
                        "resources": resources}))
        }
        "injectorsettings" => list(json!([{
            "metadata": {"name": "injector"},
            "spec": {"namespacedInjections": {"allowedParts": ["labels"]}},
        }])),
        "namespacedinjections" if defined.contains(&CustomResource::NamespacedInjection) => {
            while !is_open.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            list(json!([{
                "metadata": {"name": "tail", "namespace": "shop"},
                "spec": {"pod": {"labels": {"a": "b"}}},
            }]))
        }
        "injections" | "configmaps" | "leases" => list(json!([])),
        _ => None,
    };
    let status = if answer.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let absent =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
            .to_string();
    let body = answer.map_or(absent, |answer| answer.to_string());
    Ok(Response::builder().status(status).body(Body::from(body.into_bytes())).unwrap())
}

async fn settled(configuration: &Configuration) -> Result<(), String> {
    tokio::time::sleep(Duration::from_secs(30)).await;
    let current = configuration.current();
    assert!(current.rules().settings().namespaced.is_some(), "{current} {:?}", configuration.ready());
    configuration.ready()
}

/// A replica that was just started answered calls without the rules of namespaces, which it had not read yet.
#[tokio::test(start_paused = true)]
async fn a_replica_is_ready_after_it_has_read_the_rules_of_namespaces() {
    let is_open = Arc::new(AtomicBool::new(false));
    let configuration = Configuration::from_cluster(cluster(&CustomResource::ALL, &is_open), "injector");
    let missing = settled(&configuration).await.unwrap_err();
    assert!(missing.contains("NamespacedInjections"), "{missing}");
    is_open.store(true, Ordering::Relaxed);
    assert_eq!(settled(&configuration).await, Ok(()));
    assert_eq!(configuration.current().namespaced.rules.iter().count(), 1);
}

/// Definitions of an earlier version.
#[tokio::test(start_paused = true)]
async fn a_cluster_without_the_definition_of_rules_of_namespaces_holds_up_no_start() {
    const DEFINED: &[CustomResource] = &[CustomResource::Injection, CustomResource::InjectorSettings];
    let is_open = Arc::default();
    let configuration = Configuration::from_cluster(cluster(DEFINED, &is_open), "injector");
    assert_eq!(settled(&configuration).await, Ok(()));
}

/// The ConfigMap of the last good rules got no answer: a replica that started was not ready for five minutes, and new rules were not in
/// force for as long.
#[tokio::test(start_paused = true)]
async fn requests_without_an_answer_hold_up_no_rules() {
    let reads = Arc::new(AtomicUsize::new(0));
    let service = tower::service_fn(move |request: Request<Body>| {
        let reads = Arc::clone(&reads);
        async move {
            let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
            // Only the second read is answered: none are stored.
            if path.ends_with(LAST_GOOD) && reads.fetch_add(1, Ordering::Relaxed) != 1 {
                std::future::pending::<()>().await;
            }
            if path.ends_with("/injections") && query.contains("watch=true") {
                tokio::time::sleep(Duration::from_secs(40)).await;
                let rule = json!({"apiVersion": "vestibule.dev/v1alpha1", "kind": "Injection",
                                  "metadata": {"name": "late", "resourceVersion": "8"},
                                  "spec": {"optIn": "pod", "pod": {"labels": {"a": "b"}}}});
                let event = format!("{{\"type\":\"ADDED\",\"object\":{rule}}}\n");
                return Ok(Response::new(Body::from(event.into_bytes())));
            }
            answer(request, &CustomResource::ALL, Arc::new(AtomicBool::new(true))).await
        }
    });
    let configuration = Configuration::from_cluster(Client::new(service, "injector"), "injector");
    assert_eq!(settled(&configuration).await, Ok(()));
    assert!(configuration.current().rules().is_empty());
    assert_eq!(settled(&configuration).await, Ok(()));
    assert_eq!(configuration.current().rules().rules().len(), 1);
}
