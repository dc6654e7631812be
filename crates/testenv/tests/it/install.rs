use kube::Api;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use vestibule_testenv::{Answer, Recorder, shared_or_skip};

use crate::objects::{configuration, create, doors};

#[tokio::test]
async fn an_installed_hook_is_called_for_the_next_object() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let recorder = Recorder::start(&[], |_| Answer::Deny("not here".to_owned())).unwrap();
    let client_config = json!({ "url": recorder.url("/guard"), "caBundle": recorder.ca_bundle() });

    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        for round in 0..10 {
            let name = format!("{}-{}", namespace, kind.to_lowercase());
            let installed =
                env.install([configuration(kind, &name, namespace.name(), &client_config)]).await.unwrap();
            let refusal = create(env.admin().unwrap(), namespace.name()).await.expect_err("the hook is live");
            assert!(refusal.to_string().contains("not here"), "{kind}, round {round}: {refusal}");

            installed.uninstall().await.unwrap();
            create(env.admin().unwrap(), namespace.name()).await.expect("the hook is gone");
        }
    }
    assert_eq!(recorder.take().len(), 20);
}

#[tokio::test]
async fn a_dropped_installation_is_removed() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let recorder = Recorder::allowing(&[]).unwrap();
    let client_config = json!({ "url": recorder.url("/"), "caBundle": recorder.ca_bundle() });
    let name = format!("{namespace}-dropped");
    let object = configuration("ValidatingWebhookConfiguration", &name, namespace.name(), &client_config);
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
    let api: Api<DynamicObject> = Api::all_with(env.admin().unwrap(), &ApiResource::from_gvk(&kind));

    let installed = env.install([object]).await.unwrap();
    assert!(api.get(&name).await.is_ok());
    drop(installed);
    assert!(api.get_opt(&name).await.unwrap().is_none());
}

#[tokio::test]
async fn custom_resources_can_be_used_after_installation() {
    let Some(env) = shared_or_skip().await else { return };
    let definition = doors("testenv.example.dev");
    let door = json!({ "apiVersion": "testenv.example.dev/v1", "kind": "Door", "metadata": { "name": "front" }, "open": true });
    let _installed = env.install([definition, door]).await.unwrap();

    let kind = GroupVersionKind::gvk("testenv.example.dev", "v1", "Door");
    let api: Api<DynamicObject> = Api::all_with(env.admin().unwrap(), &ApiResource::from_gvk(&kind));
    assert_eq!(api.get("front").await.unwrap().data["open"], true);
}

#[tokio::test]
async fn a_recorder_changes_objects_and_keeps_the_reviews() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let recorder = Recorder::start(&[], |_| {
        Answer::Patch(json!([{ "op": "add", "path": "/data", "value": { "second": "was here" } }]))
    })
    .unwrap();
    let client_config = json!({ "url": recorder.url("/data"), "caBundle": recorder.ca_bundle() });
    let name = format!("{namespace}-data");
    let object = configuration("MutatingWebhookConfiguration", &name, namespace.name(), &client_config);
    let _installed = env.install([object]).await.unwrap();

    let made = create(env.admin().unwrap(), namespace.name()).await.unwrap();
    assert_eq!(made.data.unwrap()["second"], "was here");
    let [seen] = &recorder.recorded()[..] else { panic!("one review") };
    assert_eq!((seen.path.as_str(), seen.query.as_str()), ("/data", "timeout=10s"));
    assert_eq!(seen.review()["request"]["operation"], "CREATE");
}

#[tokio::test]
async fn adopt_waits_for_objects_that_another_program_completes() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let recorder = Recorder::start(&[], |_| Answer::Deny("not here".to_owned())).unwrap();
    let name = format!("{namespace}-adopted");
    let client_config = json!({ "url": recorder.url("/guard") });
    let kind = "ValidatingWebhookConfiguration";
    let object = configuration(kind, &name, namespace.name(), &client_config);
    let group = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    let api: Api<DynamicObject> = Api::all_with(env.admin().unwrap(), &ApiResource::from_gvk(&group));
    env.apply([object.clone()]).await.unwrap();

    let keeper = async {
        // The other program writes the bundle late.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let mut found = api.get(&name).await.unwrap();
        found.data["webhooks"][0]["clientConfig"]["caBundle"] = json!(recorder.ca_bundle());
        api.replace(&name, &Default::default(), &found).await.unwrap();
    };
    let (installed, ()) = tokio::join!(env.adopt(std::slice::from_ref(&object)), keeper);
    let installed = installed.unwrap();
    let refusal = create(env.admin().unwrap(), namespace.name()).await.expect_err("the hook is live");
    assert!(refusal.to_string().contains("not here"), "{refusal}");
    drop(installed);
    assert!(api.get_opt(&name).await.unwrap().is_none());
}
