//! `agnhost`: the main cases of Kubernetes' own end-to-end tests, with their messages.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{DynamicObject, Patch};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use vestibule::identity::{Identity, Local};
use vestibule::server::Shutdown;
use vestibule::{Options, Registration, Target};
use vestibule_test::Cluster;
use vestibule_test::testenv::{Installed, Service};

use crate::cluster::{api, object, refusal};

const GROUP: &str = "stable.example.com";

/// The registration of the end-to-end tests, without the hooks for all objects, and with the stages of config maps one after
/// the other.
fn as_registered(hooks: &mut Vec<Value>) {
    let named = |hook: &Value, name: &str| hook["name"].as_str().unwrap().starts_with(&format!("{name}."));
    let everything = ["always-deny", "always-allow-delay-5s", "add-label"];
    hooks.retain(|hook| !everything.iter().any(|name| named(hook, name)));
    for hook in hooks.iter_mut() {
        if named(hook, "crd") {
            hook["objectSelector"] = json!({ "matchLabels": { "webhook-e2e-test": "webhook-disallow" } });
        } else {
            hook["rules"][0]["scope"] = json!("Namespaced");
        }
        if named(hook, "custom-resource") || named(hook, "mutating-custom-resource") {
            hook["rules"][0]["apiGroups"] = json!([GROUP]);
        }
        hook.as_object_mut().unwrap().remove("reinvocationPolicy");
    }
    for stages in ["mutating-configmaps", "mutating-custom-resource"] {
        if let Some(mut second) = hooks.iter().find(|hook| named(hook, stages)).cloned() {
            second["name"] = json!(format!("again.{}", second["name"].as_str().unwrap()));
            hooks.push(second);
        }
    }
}

/// The served app, registered until this is dropped.
struct Webhook {
    registration: Registration,
    _installed: Installed,
    _service: Service,
    shutdown: Shutdown,
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.shutdown.stop();
    }
}

/// Serves the app for the objects in `namespace`; its manifests would register it for all namespaces.
async fn serve(cluster: &Cluster, namespace: &str) -> Webhook {
    let environment = cluster.environment();
    let app = agnhost::app(Some("example.org/sidecar".to_owned()));
    // The Service is in another namespace, because no hook is called in the namespace of its Service.
    let home = cluster.namespace(&[]).await;
    let service = environment.service(&home, "webhook").await.unwrap();
    let target = Target::service(&format!("{home}/webhook:{}", service.port())).unwrap();
    let authority = environment.folder().join(&home);
    let identity: Arc<dyn Identity> =
        Arc::new(Local::open(&authority, &target.dns_names(), SystemTime::now()).unwrap());
    let registration = app.registration(&target, &identity.ca_bundle().unwrap()).unwrap();
    let mut objects = registration.objects();
    for hooks in objects.iter_mut().filter_map(|object| object["webhooks"].as_array_mut()) {
        as_registered(hooks);
        for hook in hooks {
            hook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = json!(namespace);
        }
    }
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut options = Options::new(anywhere, identity);
    options.settings.probes = Some(anywhere);
    let bound = app.bind(options).await.unwrap();
    let shutdown = bound.shutdown();
    service.add_replica(bound.address(), bound.probes_address()).unwrap();
    tokio::spawn(bound.serve());
    service.wait_for_replicas(1).await.unwrap();
    let installed = environment.install(objects).await.unwrap();
    Webhook { registration, _installed: installed, _service: service, shutdown }
}

fn config_map(name: &str, data: &Value) -> ConfigMap {
    object(json!({ "metadata": { "name": name }, "data": data }))
}

fn pod(name: &str, label: &str, container: &str) -> Pod {
    object(json!({
        "metadata": { "name": name, "labels": { "webhook-e2e-test": label } },
        "spec": { "containers": [{ "name": container, "image": "example.org/web" }] },
    }))
}

#[tokio::test]
async fn the_main_cases_of_the_end_to_end_tests_hold() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let webhook = serve(&cluster, &namespace).await;

    // Pods.
    let pods: Api<Pod> = api(&cluster, &namespace);
    let denied =
        refusal(pods.create(&<_>::default(), &pod("a", "webhook-disallow", "webhook-disallow")).await, 403);
    assert!(
        denied.contains("the pod contains unwanted label; the pod contains unwanted container name;"),
        "{denied}"
    );
    let created = pods.create(&<_>::default(), &pod("webhook-to-be-mutated", "", "app")).await.unwrap();
    let spec = created.spec.unwrap();
    let added = &spec.init_containers.unwrap()[0];
    assert_eq!(
        (&*added.name, added.image.as_deref()),
        ("webhook-added-init-container", Some("webhook-added-image"))
    );
    assert_eq!(added.termination_message_policy.as_deref(), Some("File"), "and what was added is defaulted");
    let names: Vec<_> = spec.containers.iter().map(|container| &*container.name).collect();
    assert_eq!(names, ["app", "webhook-added-sidecar"]);

    // Attaching is refused before the API server connects to a kubelet.
    let attached = pods.create(&<_>::default(), &pod("to-be-attached-pod", "", "container1")).await.unwrap();
    let attach = |query: &str| {
        let pod = attached.metadata.name.as_deref().unwrap();
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/attach?{query}");
        http::Request::post(path).body(Vec::new()).unwrap()
    };
    let client = cluster.client();
    let denied = refusal(client.request_text(attach("stdin=true&container=container1")).await, 403);
    assert!(
        denied.ends_with("denied the request: attaching to pod 'to-be-attached-pod' is not allowed"),
        "{denied}"
    );
    let error =
        client.request_text(attach("stdout=true&container=container1")).await.unwrap_err().to_string();
    assert!(!error.contains("denied the request"), "there is no kubelet, and no denial: {error}");

    // Config maps.
    let config_maps: Api<ConfigMap> = api(&cluster, &namespace);
    let disallow = json!({ "webhook-e2e-test": "webhook-disallow" });
    let reason = "denied the request: the configmap contains unwanted key and value";
    let denied = refusal(config_maps.create(&<_>::default(), &config_map("bad", &disallow)).await, 403);
    assert!(denied.ends_with(reason), "{denied}");
    let staged = config_map("staged", &json!({ "mutation-start": "yes" }));
    let created = config_maps.create(&<_>::default(), &staged).await.unwrap();
    let expected = json!({ "mutation-start": "yes", "mutation-stage-1": "yes", "mutation-stage-2": "yes" });
    assert_eq!(json!(created.data), expected);
    let patch = Patch::Merge(json!({ "data": disallow }));
    let denied = refusal(config_maps.patch("staged", &<_>::default(), &patch).await, 403);
    assert!(denied.ends_with(reason), "{denied}");
    let kept = config_map("kept", &json!({ "webhook-e2e-test": "webhook-nondeletable" }));
    config_maps.create(&<_>::default(), &kept).await.unwrap();
    let denied = refusal(config_maps.delete("kept", &<_>::default()).await, 403);
    assert!(denied.ends_with("cannot be deleted because it contains unwanted key and value"), "{denied}");

    // Definitions.
    let mut unwanted = definition("unwanted", "bads", &json!({ "strategy": "None" }));
    unwanted["metadata"]["labels"] = json!({ "webhook-e2e-test": "webhook-disallow" });
    let definitions = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(cluster.client(), &ApiResource::from_gvk(&definitions));
    let denied = refusal(definitions.create(&<_>::default(), &object(unwanted)).await, 403);
    assert!(denied.ends_with("denied the request: the crd contains unwanted label"), "{denied}");

    // Custom resources, in both of their versions.
    let conversion = webhook.registration.conversions.get("crds.stable.example.com").unwrap();
    let wanted = definition("wanted", "crds", &json!(conversion));
    drop(cluster.environment().install([wanted]).await.unwrap());
    let api = |version: &str| -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(GROUP, version, "Crd");
        Api::namespaced_with(cluster.client(), &namespace, &ApiResource::from_gvk_with_plural(&kind, "crds"))
    };
    let custom = |version: &str, name: &str, members: Value| -> DynamicObject {
        let mut custom = json!({ "apiVersion": format!("{GROUP}/{version}"), "kind": "Crd", "metadata": { "name": name } });
        custom.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        object(custom)
    };
    let (first, second) = (api("v1"), api("v2"));
    let bad = custom("v1", "bad", json!({ "hostPort": "a:1", "data": disallow }));
    let denied = refusal(first.create(&<_>::default(), &bad).await, 403);
    assert!(denied.ends_with("denied the request: the custom resource contains unwanted data"), "{denied}");
    let good =
        custom("v1", "good", json!({ "hostPort": "localhost:7070", "data": { "mutation-start": "yes" } }));
    let created = first.create(&<_>::default(), &good).await.unwrap();
    assert_eq!(created.data["data"], expected);
    let converted = second.get("good").await.unwrap();
    assert_eq!([&converted.data["host"], &converted.data["port"]], ["localhost", "7070"]);
    assert_eq!(converted.data.get("hostPort"), None);
    second
        .create(&<_>::default(), &custom("v2", "other", json!({ "host": "b", "port": "2" })))
        .await
        .unwrap();
    let list = first.list(&<_>::default()).await.unwrap().items;
    let host_ports: Vec<_> = list.iter().map(|custom| custom.data["hostPort"].as_str().unwrap()).collect();
    assert_eq!(host_ports, ["localhost:7070", "b:2"]);
    first.create(&<_>::default(), &custom("v1", "broken", json!({ "hostPort": "a:b:c" }))).await.unwrap();
    let words = refusal(second.get("broken").await, 500);
    assert!(words.ends_with("invalid hostPort value: it is not HOST:PORT"), "{words}");
}

/// A definition of custom resources in `v1` and `v2`, without a schema.
fn definition(singular: &str, plural: &str, conversion: &Value) -> Value {
    let kind = if plural == "crds" { "Crd" } else { "Bad" };
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": "Namespaced", "conversion": conversion,
            "names": { "plural": plural, "singular": singular, "kind": kind },
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}
