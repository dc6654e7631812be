//! Both articles as they were written: the injector is installed into `default`, and so are the pods.

use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_testenv::{Options, start_or_skip};

use super::articles::{annotated, echo, quotes};
use super::{Cluster, InstalledInjector, names, print_manifests};
use crate::examples;
use crate::fixture::Folder;

const HOME: &str = "default";
const SETTINGS: &str = "\
{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: injector}, spec: {ownNamespace: inject}}
";

/// It has an API server of its own, since other tests use `default` too.
#[tokio::test]
async fn the_articles_install_into_default_and_inject_there_once_the_settings_say_so() {
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    // On a cluster a controller makes the ServiceAccount that pods need; here no controller runs.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": HOME}});
    environment.apply([account]).await.unwrap();
    let rule = |file: &str| std::fs::read_to_string(examples::rules().join(file)).unwrap();
    let folder = Folder::with(&[("nginx.yaml", &rule("nginx.yaml")), ("envoy.yaml", &rule("envoy.yaml"))]);
    let service = environment.service(HOME, "injector").await.unwrap();
    let (manifests, said) = print_manifests(folder.path(), HOME, &service);
    quotes(
        &said,
        &["note: rules leave default, the injector's own namespace, alone; `ownNamespace: inject` in the \
           InjectorSettings opens it to them"],
    );
    let injector = InstalledInjector::install(environment, HOME, service, manifests, |_| {}).await;
    let cluster = Cluster::of(Arc::new(injector));
    // Long lines are wrapped.
    let explained = |pod: &str| cluster.explain(HOME, pod).replace('\n', " ");
    let with_nginx = |pod: &Value| names(&pod["spec"]["containers"]) == ["app", "sidecar-nginx"];
    let with_envoy = |pod: &Value| names(&pod["spec"]["initContainers"]) == ["envoy"];

    // In any other namespace these labels are enough.
    cluster.label(HOME, "sidecar-injector", "enabled").await;
    cluster.label(HOME, "injection", "enabled").await;
    let pods = [("nginx", annotated("sleep")), ("envoy", echo("http-echo"))];
    for (rule, pod) in &pods {
        let made = cluster.create(HOME, pod).await.object();
        assert!(!with_nginx(&made) && !with_envoy(&made), "{made}");
        let left_out = format!("rule {rule} left out: excluded_own_namespace");
        let remedy =
            "default is the injector's own namespace, and its settings do not say `ownNamespace: inject`";
        quotes(&explained(pod["metadata"]["name"].as_str().unwrap()), &[&left_out, remedy]);
    }

    folder.write("settings.yaml", SETTINGS);
    let (manifests, said) = print_manifests(folder.path(), HOME, &cluster.injector.service);
    assert!(!said.contains("ownNamespace"), "{said}");
    cluster.injector.environment.apply(manifests).await.unwrap();
    cluster.wait_until_injected(HOME, &annotated("probe"), |pod| with_nginx(pod) && with_envoy(pod)).await;
    for (rule, pod) in &pods {
        let name = pod["metadata"]["name"].as_str().unwrap();
        let old = cluster.read(HOME, pod).await;
        assert!(!with_nginx(&old) && !with_envoy(&old), "what is there stays as it is");
        quotes(&explained(name), &[&format!("rule {rule} applied")]);
        cluster.delete(HOME, pod).await;
        let made = cluster.create(HOME, pod).await.object();
        assert!(with_envoy(&made) && with_nginx(&made) == (*rule == "nginx"), "{made}");
        quotes(&explained(name), &[&format!("rule {rule} unchanged")]);
    }
    // The form of the article: a container after that of the application.
    let regular = rule("envoy.yaml").replace("mode: auto", "mode: regular");
    let regular = regular.replace("      position: {initContainers: first}\n", "");
    folder.write("envoy.yaml", regular);
    let (manifests, _) = print_manifests(folder.path(), HOME, &cluster.injector.service);
    cluster.injector.environment.apply(manifests).await.unwrap();
    let beside = |pod: &Value| names(&pod["spec"]["containers"]) == ["http-echo", "envoy"];
    cluster.wait_until_injected(HOME, &echo("probe"), beside).await;
    let made = cluster.create(HOME, &echo("regular")).await.object();
    assert!(beside(&made) && names(&made["spec"]["initContainers"]).is_empty(), "{made}");
    quotes(&explained("regular"), &["rule envoy unchanged", "sidecars[0]"]);
}
