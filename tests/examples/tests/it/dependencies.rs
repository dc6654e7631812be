//! `dependencies`: refused objects are accepted once their dependencies exist.

use dependencies::Site;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use kube::Error;
use kube::api::{Api, DeleteParams, Patch, PostParams};
use serde_json::json;
use vestibule_test::Cluster;

use crate::cluster::{api, object, refusal};

const NOW: &PostParams = &PostParams { dry_run: false, field_manager: None };

/// The fields that a refusal names.
fn fields<T>(outcome: Result<T, Error>) -> Vec<String> {
    let Err(Error::Api(status)) = outcome else { panic!("it is not refused") };
    let causes = status.details.map(|details| details.causes).unwrap_or_default();
    causes.into_iter().map(|cause| cause.field).collect()
}

#[tokio::test]
async fn a_deployment_waits_for_its_config_maps_and_secrets() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(dependencies::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let (deployments, config_maps, secrets): (Api<Deployment>, Api<ConfigMap>, Api<Secret>) =
        (api(&cluster, &namespace), api(&cluster, &namespace), api(&cluster, &namespace));
    let web: Deployment = object(json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": {
                    "containers": [{
                        "name": "web", "image": "web:1",
                        "envFrom": [{ "configMapRef": { "name": "settings" } }],
                    }],
                    "volumes": [{ "name": "key", "projected": { "sources": [{ "secret": { "name": "key" } }] } }],
                },
            },
        },
    }));

    let refused = deployments.create(NOW, &web).await;
    let words = "denied the request: ConfigMap settings does not exist, Secret key does not exist";
    assert!(refusal(refused, 403).ends_with(words));
    assert_eq!(
        fields(deployments.create(NOW, &web).await),
        [
            "spec.template.spec.containers[0].envFrom[0].configMapRef",
            "spec.template.spec.volumes[0].projected.sources[0].secret",
        ]
    );
    let settings: ConfigMap = object(json!({ "metadata": { "name": "settings" } }));
    config_maps.create(NOW, &settings).await.unwrap();
    assert!(refusal(deployments.create(NOW, &web).await, 403).ends_with(": Secret key does not exist"));
    let key: Secret = object(json!({ "metadata": { "name": "key" } }));
    secrets.create(NOW, &key).await.unwrap();
    deployments.create(NOW, &web).await.unwrap();

    // A dependency that is deleted later does not block updates.
    secrets.delete("key", &DeleteParams::default()).await.unwrap();
    let labelled = Patch::Merge(json!({ "metadata": { "labels": { "team": "shop" } } }));
    deployments.patch("web", &<_>::default(), &labelled).await.unwrap();
}

#[tokio::test]
async fn a_site_waits_for_a_bound_claim_and_a_service_with_its_port() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(dependencies::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let (sites, claims, services): (Api<Site>, Api<PersistentVolumeClaim>, Api<Service>) =
        (api(&cluster, &namespace), api(&cluster, &namespace), api(&cluster, &namespace));
    let site: Site = object(json!({
        "apiVersion": "example.dev/v1", "kind": "Site",
        "metadata": { "name": "shop" }, "spec": { "claim": "pages", "service": "shop" },
    }));

    assert_eq!(fields(sites.create(NOW, &site).await), ["spec.claim", "spec.service"]);
    let service: Service = object(json!({
        "metadata": { "name": "shop" }, "spec": { "ports": [{ "port": 80 }], "selector": { "app": "shop" } },
    }));
    services.create(NOW, &service).await.unwrap();
    let claim: PersistentVolumeClaim = object(json!({
        "metadata": { "name": "pages", "finalizers": ["example.dev/kept"] },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    }));
    claims.create(NOW, &claim).await.unwrap();
    // The claim exists, but is not bound yet.
    assert_eq!(fields(sites.create(NOW, &site).await), ["spec.claim"]);
    let bound = Patch::Merge(json!({ "status": { "phase": "Bound" } }));
    claims.patch_status("pages", &<_>::default(), &bound).await.unwrap();
    sites.create(NOW, &site).await.unwrap();

    let other = Patch::Merge(json!({ "spec": { "claim": "other" } }));
    refusal(sites.patch("shop", &<_>::default(), &other).await, 422);
    // A claim that is being deleted does not count.
    claims.delete("pages", &DeleteParams::default()).await.unwrap();
    sites.delete("shop", &DeleteParams::default()).await.unwrap();
    assert_eq!(fields(sites.create(NOW, &site).await), ["spec.claim"]);
    let released = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    claims.patch("pages", &<_>::default(), &released).await.unwrap();
}
