use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use vestibule_testenv::{Answer, Recorder, shared_or_skip};

use crate::objects::{configuration, create};

#[tokio::test]
async fn the_audit_log_has_the_annotations_of_hooks_and_refused_requests() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let annotated = |uid: &Value| {
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
            "uid": uid, "allowed": true, "auditAnnotations": { "colour": "red" },
        } })
    };
    let recorder = Recorder::start(&[], move |seen| {
        Answer::Raw(200, annotated(&seen.review()["request"]["uid"]).to_string().into_bytes())
    });
    let recorder = recorder.unwrap();
    let client_config = json!({ "url": recorder.url("/"), "caBundle": recorder.ca_bundle() });
    let name = format!("{namespace}-audited");
    let object = configuration("ValidatingWebhookConfiguration", &name, namespace.name(), &client_config);
    let hook = object["webhooks"][0]["name"].as_str().unwrap().to_owned();
    let _installed = env.install([object]).await.unwrap();
    create(env.admin().unwrap(), namespace.name()).await.unwrap();

    let other = env.service_account(namespace.name(), "other").await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(other, namespace.name());
    secrets.list(&ListParams::default()).await.unwrap_err();
    let maps: Api<ConfigMap> = Api::namespaced(env.admin().unwrap(), namespace.name());
    maps.list(&ListParams::default()).await.unwrap();

    let log = env.audit_log().unwrap();
    let ours = |event: &&Value| event["objectRef"]["namespace"] == namespace.name();
    let annotation = format!("{hook}/colour");
    assert!(log.iter().filter(ours).any(|event| event["annotations"][&annotation] == "red"));
    let refused: Vec<_> =
        log.iter().filter(ours).filter(|event| event["responseStatus"]["code"] == 403).collect();
    let [refused] = refused[..] else { panic!("{refused:?}") };
    assert_eq!(refused["user"]["username"], format!("system:serviceaccount:{namespace}:other"));
    assert_eq!((&refused["verb"], &refused["objectRef"]["resource"]), (&json!("list"), &json!("secrets")));
    // Reads are logged for service accounts only.
    let is_list = |event: &&Value| event["verb"] == "list" && event["objectRef"]["resource"] == "configmaps";
    assert_eq!(log.iter().filter(ours).find(is_list), None);
}
