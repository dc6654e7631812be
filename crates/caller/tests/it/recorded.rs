//! The builder against reviews that a real kube-apiserver sent.

use std::fs;
use std::path::Path;

use serde_json::Value;
use vestibule_caller::{ApiResource, Review, ReviewBuilder, ReviewVersion, User};

#[test]
fn reviews_are_built_as_a_real_server_builds_them() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut compared = 0;
    for file in fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "json") {
            let recorded: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let built = rebuild(&recorded).build().unwrap();
            let built: Value = serde_json::from_slice(built.body()).unwrap();
            assert_eq!(built, recorded, "{}", file.display());
            compared += 1;
        }
    }
    assert!(compared >= 30, "only {compared} recorded reviews were found");
}

/// Hands the builder what a user's request says, and no more: the namespace only beside the object, name and options
/// only where they are not the ones that follow from it.
fn rebuild(recorded: &Value) -> ReviewBuilder {
    let request = &recorded["request"];
    let resource = resource(&request["resource"], &request["kind"], request);
    let (object, old_object) = (placeless(&request["object"]), placeless(&request["oldObject"]));
    let subject = if object.is_null() { &old_object } else { &object };
    let own_name = subject["metadata"]["name"].as_str().unwrap_or_default().to_owned();

    let mut review = match text(&request["operation"]) {
        "CREATE" => Review::create(object),
        "UPDATE" => Review::update(old_object, object),
        "DELETE" => Review::delete(old_object),
        "CONNECT" => Review::connect(object, resource.clone(), text(&request["name"]), "exec"),
        other => panic!("{other}"),
    };
    let built_in = ApiResource::built_in(resource.api_version(), resource.kind()).is_some();
    if !built_in || request.get("subResource").is_some() {
        review = review.resource(resource);
    }
    if text(&request["name"]) != own_name {
        review = review.name(text(&request["name"]));
    }
    if request["requestKind"] != request["kind"] {
        let requested = self::resource(&request["requestResource"], &request["requestKind"], request);
        review = review.requested_as(requested);
    }
    if request["dryRun"] == true {
        review = review.dry_run();
    }
    let options = &request["options"];
    if options.get("fieldManager").or(options.get("gracePeriodSeconds")).is_some() {
        review = review.options(options.clone());
    }
    if recorded["apiVersion"] == "admission.k8s.io/v1beta1" {
        review = review.version(ReviewVersion::V1Beta1);
    }
    if let Some(namespace) = request["namespace"].as_str() {
        review = review.namespace(namespace);
    }
    review
        .subresource(text(&request["subResource"]))
        .user(user(&request["userInfo"]))
        .uid(text(&request["uid"]))
}

fn resource(resource: &Value, kind: &Value, request: &Value) -> ApiResource {
    let version = text(&resource["version"]);
    let api_version = match text(&resource["group"]) {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    let (kind, plural) = (text(&kind["kind"]), text(&resource["resource"]));
    if request.get("namespace").is_some() && plural != "namespaces" {
        ApiResource::namespaced(&api_version, kind, plural)
    } else {
        ApiResource::cluster_scoped(&api_version, kind, plural)
    }
}

fn user(recorded: &Value) -> User {
    let mut user = User { username: text(&recorded["username"]).to_owned(), ..User::default() };
    user.uid = text(&recorded["uid"]).to_owned();
    user.groups = texts(&recorded["groups"]);
    let extra = recorded["extra"].as_object().into_iter().flatten();
    user.extra = extra.map(|(key, values)| (key.clone(), texts(values))).collect();
    user
}

fn placeless(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
    object
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(values: &Value) -> Vec<String> {
    values.as_array().into_iter().flatten().map(|value| text(value).to_owned()).collect()
}
