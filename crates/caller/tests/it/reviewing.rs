//! Reviews as the API server writes them.

use serde_json::{Value, json};
use vestibule_caller::{ApiResource, Review, ReviewBuilder, ReviewError, ReviewVersion, User};

use super::{UID, pod};

#[test]
fn a_created_pod() {
    let review = Review::create(pod()).namespace("shop").uid(UID).build().unwrap();
    let object = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}});
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    let resource = json!({"group": "", "version": "v1", "resource": "pods"});
    let expected = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "web", "namespace": "shop", "operation": "CREATE",
            "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
            "object": object, "oldObject": null, "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    });
    assert_eq!(body(&review), expected);
    assert_eq!(review.object(), Some(&object));
}

#[test]
fn the_body_is_what_go_writes() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c"}, "data": {"a<b>&": "\u{2028}", "n": "line\n"}});
    let review = Review::create(object).uid(UID).build().unwrap();
    let text = std::str::from_utf8(review.body()).unwrap();
    assert!(text.starts_with(
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"0a1b","#
    ));
    assert!(text.contains(r#""data":{"a\u003cb\u003e\u0026":"\u2028","n":"line\n"}"#), "{text}");
    assert!(text.ends_with("}}\n"), "one newline at the end");
}

#[test]
fn numbers_pass_exactly() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
        "spec": {"big": 9_007_199_254_740_993_i64, "small": i64::MIN, "float": 1.0}});
    let widgets = ApiResource::namespaced("example.com/v1", "Widget", "widgets");
    let review = Review::create(object).resource(widgets).build().unwrap();
    let text = std::str::from_utf8(review.body()).unwrap();
    assert!(text.contains(r#"{"big":9007199254740993,"float":1.0,"small":-9223372036854775808}"#), "{text}");
    assert_eq!(
        request(&review)["resource"],
        json!({"group": "example.com", "version": "v1", "resource": "widgets"})
    );
}

#[test]
fn the_four_operations() {
    let old = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}});
    let update = request(&Review::update(old.clone(), pod()).namespace("shop").build().unwrap());
    assert_eq!(update["operation"], "UPDATE");
    assert_eq!(update["oldObject"], old);
    assert_eq!(update["object"]["metadata"]["namespace"], "shop");
    assert_eq!(update["options"]["kind"], "UpdateOptions");

    let delete = request(&Review::delete(old.clone()).build().unwrap());
    assert_eq!((&delete["operation"], &delete["object"]), (&json!("DELETE"), &Value::Null));
    assert_eq!((&delete["oldObject"], &delete["name"]), (&old, &json!("web")));
    assert_eq!((&delete["namespace"], &delete["options"]["kind"]), (&json!("shop"), &json!("DeleteOptions")));

    let exec = json!({"apiVersion": "v1", "kind": "PodExecOptions", "stdin": true});
    let pods = ApiResource::built_in("v1", "Pod").unwrap();
    let connect = Review::connect(exec.clone(), pods, "web", "exec").namespace("shop").build().unwrap();
    let connect = request(&connect);
    assert_eq!((&connect["operation"], &connect["object"]), (&json!("CONNECT"), &exec));
    assert_eq!((&connect["oldObject"], &connect["options"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&connect["kind"]["kind"], &connect["resource"]["resource"]),
        (&json!("PodExecOptions"), &json!("pods"))
    );
    assert_eq!((&connect["name"], &connect["subResource"]), (&json!("web"), &json!("exec")));
    assert_eq!((&connect["namespace"], &connect["requestSubResource"]), (&json!("shop"), &json!("exec")));
}

#[test]
fn names_and_namespaces() {
    let generated = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}});
    let generated = request(&Review::create(generated).build().unwrap());
    assert!(generated.get("name").is_none());
    assert_eq!(generated["object"]["metadata"], json!({"generateName": "web-", "namespace": "default"}));

    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let namespace = request(&Review::create(namespace).build().unwrap());
    assert_eq!((&namespace["namespace"], &namespace["name"]), (&json!("shop"), &json!("shop")));
    assert_eq!(namespace["object"]["metadata"], json!({"name": "shop"}));

    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    assert!(request(&Review::create(node).build().unwrap()).get("namespace").is_none());
}

#[test]
fn fields_that_the_builder_sets() {
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}});
    let deployments = ApiResource::built_in("apps/v1", "Deployment").unwrap();
    let beta = ApiResource::namespaced("extensions/v1beta1", "Deployment", "deployments");
    let review = Review::update(scale.clone(), scale)
        .resource(deployments)
        .requested_as(beta)
        .subresource("scale")
        .version(ReviewVersion::V1Beta1)
        .user(User { username: "alice".to_owned(), groups: vec![], ..User::default() })
        .dry_run()
        .build()
        .unwrap();
    assert_eq!(body(&review)["apiVersion"], "admission.k8s.io/v1beta1");
    let request = request(&review);
    assert_eq!(request["kind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!(request["resource"], json!({"group": "apps", "version": "v1", "resource": "deployments"}));
    assert_eq!(request["requestKind"]["group"], "extensions");
    assert_eq!(request["requestResource"]["version"], "v1beta1");
    assert_eq!((&request["subResource"], &request["dryRun"]), (&json!("scale"), &json!(true)));
    assert_eq!(request["userInfo"], json!({"username": "alice"}));
    assert_eq!(request["options"]["dryRun"], json!(["All"]));
}

#[test]
fn another_call_has_another_uid() {
    let first = Review::create(pod()).namespace("shop").uid(UID).dry_run().build().unwrap();
    let second = first.with_object(first.object().unwrap().clone()).unwrap();
    assert_ne!(second.uid(), first.uid());
    let mut expected = body(&first);
    expected["request"]["uid"] = json!(second.uid());
    assert_eq!(body(&second), expected);
}

#[test]
fn requests_that_never_reach_a_webhook() {
    let error = |review: ReviewBuilder| review.build().err().expect("no review");
    assert!(matches!(error(Review::create(json!({"kind": "Pod"}))), ReviewError::NoKind));
    assert!(matches!(error(Review::create(json!([]))), ReviewError::NoKind));
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
    assert!(matches!(error(Review::create(widget)), ReviewError::UnknownKind { .. }));
    let placed = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "a"}});
    assert!(matches!(error(Review::create(placed).namespace("b")), ReviewError::Namespace { .. }));
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "a"}});
    assert!(matches!(error(Review::create(node)), ReviewError::Namespace { .. }));
}

fn body(review: &Review) -> Value {
    serde_json::from_slice(review.body()).unwrap()
}

fn request(review: &Review) -> Value {
    body(review)["request"].clone()
}

#[test]
fn again_is_the_same_request_under_another_uid() {
    for uid in ["0a1b", "", "\"</\u{e9}\"\\"] {
        let review = Review::create(pod()).namespace("shop").uid(uid).build().unwrap();
        let again = review.again().unwrap();
        assert_ne!(again.uid(), uid);
        let mut body: Value = serde_json::from_slice(again.body()).unwrap();
        assert_eq!(body["request"]["uid"], again.uid());
        body["request"]["uid"] = uid.into();
        assert_eq!(body, serde_json::from_slice::<Value>(review.body()).unwrap());
        let third = again.again().unwrap();
        assert_eq!(third.body().len(), again.body().len());
        assert!(String::from_utf8_lossy(third.body()).contains(third.uid()));
    }
}
