//! Service references in CustomResourceDefinitions and APIServices.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use vestibule_testenv::{Answer, Recorder, shared_or_skip};

use crate::objects::doors;

#[tokio::test]
async fn a_conversion_goes_through_a_service() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let service = env.service(namespace.name(), "converter").await.unwrap();
    let recorder = Recorder::start(&[&service.host()], |seen| {
        let review = seen.review();
        let version = &review["request"]["desiredAPIVersion"];
        let converted = review["request"]["objects"].as_array().unwrap().iter().map(|object| {
            let mut object = object.clone();
            object["apiVersion"] = version.clone();
            object["converted"] = true.into();
            object
        });
        let answer = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "response": {
                "uid": review["request"]["uid"],
                "convertedObjects": converted.collect::<Vec<_>>(),
                "result": { "status": "Success" },
            },
        });
        Answer::Raw(200, answer.to_string().into_bytes())
    })
    .unwrap();
    service.add_replica(recorder.address(), None).unwrap();

    let mut definition = doors("conversion.example.dev");
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    definition["spec"]["versions"].as_array_mut().unwrap().push(second);
    definition["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": { "service": service.reference("/convert"), "caBundle": recorder.ca_bundle() },
        },
    });
    let _installed = env.install([definition]).await.unwrap();

    let api = |version| {
        let kind = GroupVersionKind::gvk("conversion.example.dev", version, "Door");
        let resource = ApiResource::from_gvk(&kind);
        (Api::<DynamicObject>::all_with(env.admin().unwrap(), &resource), resource)
    };
    let (stored, resource) = api("v1");
    stored.create(&PostParams::default(), &DynamicObject::new("front", &resource)).await.unwrap();
    let seen = api("v2").0.get("front").await.unwrap();
    assert_eq!(seen.data["converted"], true);
    let calls = recorder.recorded();
    assert!(calls.iter().all(|call| call.path == "/convert"));
    assert_eq!(calls[0].server_name.as_deref(), Some(service.host().as_str()));
}

#[tokio::test]
async fn an_aggregated_api_goes_through_a_service() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap();
    let service = env.service(namespace.name(), "aggregated").await.unwrap();
    let recorder = Recorder::start(&[&service.host()], |_| {
        let list = json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": "v1.windows.example.dev",
            "resources": [],
        });
        Answer::Raw(200, list.to_string().into_bytes())
    })
    .unwrap();
    service.add_replica(recorder.address(), None).unwrap();
    let _installed = env
        .install([json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": { "name": "v1.windows.example.dev" },
            "spec": {
                "group": "windows.example.dev",
                "version": "v1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": service.api_service_reference(),
                "caBundle": recorder.ca_bundle(),
            },
        })])
        .await
        .unwrap();

    let request = hyper::Request::get("/apis/windows.example.dev/v1").body(Vec::new()).unwrap();
    let answer: serde_json::Value = env.admin().unwrap().request(request).await.unwrap();
    assert_eq!(answer["kind"], "APIResourceList");
    assert_eq!(recorder.recorded()[0].server_name.as_deref(), Some(service.host().as_str()));

    // Other tests share this environment, and an API without a server breaks their discovery.
    let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    let apis: Api<DynamicObject> = Api::all_with(env.admin().unwrap(), &ApiResource::from_gvk(&kind));
    apis.delete("v1.windows.example.dev", &DeleteParams::default()).await.unwrap();
}
