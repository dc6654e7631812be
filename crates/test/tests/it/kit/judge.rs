//! The same answers, given to the judge and to the real API server.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Error};
use serde_json::{Value, json};
use vestibule_test::Cluster;
use vestibule_test::caller::{Admission, Answer, FailurePolicy, Hook, Review, judge};
use vestibule_test::testenv;

/// The value of the label that selects the hook with this failure policy.
const POLICIES: [(&str, FailurePolicy); 2] =
    [("Fail", FailurePolicy::Fail), ("Ignore", FailurePolicy::Ignore)];

/// An answer: an HTTP status and a body, in which `UID` stands for the uid of the review.
type StatusAndBody = (u16, String);

fn cases() -> Vec<StatusAndBody> {
    let said = |body: Value| (200, body.to_string());
    let review = |response: Value| json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
    let allowed = |members: Value| {
        let mut response = json!({ "uid": "UID", "allowed": true });
        response.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        review(response)
    };
    let encoded = |text: &str| json!({ "patch": STANDARD.encode(text), "patchType": "JSONPatch" });
    let patch = |steps: Value| said(allowed(encoded(&steps.to_string())));
    let step =
        |op: &str, path: &str, value: Value| patch(json!([{ "op": op, "path": path, "value": value }]));
    let denied = |status: Value| said(review(json!({ "uid": "UID", "allowed": false, "status": status })));
    let plain = allowed(json!({}));
    let mut nameless = plain.clone();
    nameless.as_object_mut().unwrap().remove("kind");
    let versioned = |version: &str| {
        let mut review = plain.clone();
        review["apiVersion"] = json!(version);
        said(review)
    };
    let yaml =
        "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse:\n  uid: UID\n  allowed: true\n";
    let twice = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":false,"allowed":true}}"#;
    vec![
        // Valid reviews.
        said(plain.clone()),
        (201, plain.to_string()),
        (206, plain.to_string()),
        (200, yaml.to_owned()),
        (200, format!("\u{feff}{plain}")),
        (200, twice.to_owned()),
        said(allowed(json!({ "later": [1], "status": { "code": 500 } }))),
        said(allowed(json!({ "patch": "[]".as_bytes(), "patchType": "JSONPatch" }))),
        // Invalid reviews.
        (200, String::new()),
        (207, plain.to_string()),
        (200, "no review".to_owned()),
        (200, plain.to_string().trim_end_matches('}').to_owned()),
        (200, format!("{plain}{plain}")),
        (403, plain.to_string()),
        (404, plain.to_string()),
        (409, plain.to_string()),
        (429, plain.to_string()),
        (500, plain.to_string()),
        (503, plain.to_string()),
        (
            400,
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "why" })
                .to_string(),
        ),
        said(review(Value::Null)),
        said(review(json!({ "allowed": true }))),
        said(review(json!({ "uid": "other", "allowed": true }))),
        said(nameless),
        versioned("admission.k8s.io/v1beta1"),
        versioned("admission.k8s.io/v2"),
        said(review(json!({ "uid": "UID", "allowed": "yes" }))),
        // Patches that the envelope forbids.
        said(allowed(json!({ "patch": STANDARD.encode("[]") }))),
        said(allowed(json!({ "patchType": "JSONPatch" }))),
        said(allowed(json!({ "patchType": "JSONPatch", "patch": "" }))),
        said(allowed(json!({ "patchType": "", "patch": STANDARD.encode("[{}]") }))),
        said(allowed(json!({ "patchType": "MergePatch", "patch": STANDARD.encode("[{}]") }))),
        said(allowed(json!({ "patchType": "JSONPatch", "patch": "W10" }))),
        said(allowed(json!({ "patchType": "JSONPatch", "patch": "_-8=" }))),
        said(allowed(encoded("no patch"))),
        said(allowed(encoded("{}"))),
        said(allowed(encoded("[1]"))),
        said(allowed(encoded("null"))),
        // Patches that apply.
        step("add", "/data/a", json!("1")),
        step("add", "/metadata/annotations", json!({ "a/b": "1" })),
        step("replace", "/data/missing", json!("1")),
        step("test", "/data/a~1b~2", Value::Null),
        step("add", "no slash/data/a", json!("1")),
        step("test", "/data/missing", Value::Null),
        step("add", "/metadata/finalizers/-1", json!("b.example.com/f")),
        step("add", "/metadata/finalizers/00", json!("b.example.com/f")),
        step("replace", "/metadata/finalizers/-1", json!("b.example.com/f")),
        patch(json!([{ "op": "test", "path": "/data/missing" }])),
        patch(json!([{ "op": "add", "path": "/data" }])),
        patch(json!([{ "op": "copy", "from": "/data/k", "path": "/data/l" }])),
        patch(json!([{ "op": "move", "from": "/data/k", "path": "/data/l" }])),
        patch(
            json!([{ "op": "test", "path": "/data", "value": { "k": "v" } }, { "op": "remove", "path": "/data/k" }]),
        ),
        // Patches that do not.
        step("add", "/binaryData/a", json!("1")),
        step("add", "no-slash", json!("1")),
        step("add", "", json!({})),
        step("replace", "", json!(1)),
        step("replace", "/binaryData/a", json!("1")),
        step("test", "/data/k", json!("w")),
        step("frob", "/data/k", json!("w")),
        step("add", "/metadata/finalizers/2", json!("b.example.com/f")),
        step("add", "/metadata/finalizers/x", json!("b.example.com/f")),
        step("add", "/metadata/finalizers/-3", json!("b.example.com/f")),
        step("replace", "/metadata/finalizers/1", json!("b.example.com/f")),
        step("add", "/data/k/x", json!("1")),
        patch(json!([{ "op": "remove", "path": "/data/missing" }])),
        patch(json!([{ "op": "remove", "path": "/metadata/finalizers/1" }])),
        patch(json!([{ "op": "move", "from": "/data/missing", "path": "/data/l" }])),
        patch(json!([{ "op": "copy", "from": "/binaryData/k", "path": "/data/l" }])),
        patch(json!([{ "op": "copy", "path": "/data/l" }])),
        patch(json!([{ "op": "add", "value": "1" }])),
        patch(json!([null])),
        patch(json!([{ "op": "add", "path": 1 }])),
        // Denials.
        denied(json!({ "code": 403, "reason": "Forbidden", "message": "no" })),
        denied(json!({ "message": "no" })),
        denied(json!({ "code": 200, "message": "no" })),
        denied(json!({ "code": 599, "reason": "Strange" })),
        denied(
            json!({ "code": 422, "message": "no", "details": { "causes": [{ "field": "data", "message": "x" }] } }),
        ),
        said(review(json!({ "uid": "UID" }))),
        said(review(
            json!({ "uid": "UID", "allowed": false, "patch": STANDARD.encode("[]"), "patchType": "JSONPatch" }),
        )),
    ]
}

#[tokio::test]
async fn the_judge_and_the_api_server_agree() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let answers = cases();
    let recorder = testenv::Recorder::start(&[], move |seen| {
        let request = &seen.review()["request"];
        let case = request["object"]["metadata"]["labels"]["case"].as_str().unwrap_or_default();
        let (status, body) = &answers[case.parse::<usize>().unwrap_or_default()];
        testenv::Answer::Raw(*status, body.replace("UID", request["uid"].as_str().unwrap()).into_bytes())
    });
    let recorder = recorder.unwrap();
    let hooks = POLICIES.map(|(policy, _)| {
        json!({
            "name": format!("{}.{namespace}.example.com", policy.to_lowercase()),
            "clientConfig": { "url": recorder.url("/"), "caBundle": recorder.ca_bundle() },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "objectSelector": { "matchLabels": { "policy": policy } },
            "failurePolicy": policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        })
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": namespace },
        "webhooks": hooks,
    });
    let _installed = cluster.environment().install([configuration]).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), &namespace);

    let mut differences = Vec::new();
    for (number, (status, body)) in cases().into_iter().enumerate() {
        for (policy, failure_policy) in POLICIES {
            let labels = BTreeMap::from([("case", number.to_string()), ("policy", policy.to_owned())]);
            let name = format!("{}-{number}", policy.to_lowercase());
            let map = json!({
                "metadata": { "name": name, "labels": labels, "finalizers": ["a.example.com/f"] },
                "data": { "k": "v" },
            });
            recorder.take();
            let created = maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await;
            let asked = recorder.take().remove(0).review()["request"].take();
            let (uid, object) = (asked["uid"].as_str().unwrap(), asked["object"].clone());
            let review = Review::create(object).namespace(&namespace).uid(uid).build().unwrap();
            let hook = Hook::mutating(&format!("{}.{namespace}.example.com", policy.to_lowercase()), "/");
            let answer = Answer {
                status,
                content_type: Some("application/json".to_owned()),
                body: body.replace("UID", uid).into_bytes(),
            };
            let judged = told(judge(&review, &hook, &answer).under(failure_policy, &review));
            let real = real(created);
            if judged != real {
                differences.push(format!("{policy}: {status} {body}\n  judge {judged}\n  real  {real}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}\n{} differ", differences.join("\n"), differences.len());
}

fn told(admission: Admission) -> String {
    match admission {
        Admission::Admitted { object, .. } => admitted(&object.unwrap()),
        Admission::Refused { code, message, .. } => refused(code, &message),
    }
}

fn real(created: Result<ConfigMap, Error>) -> String {
    match created {
        Ok(map) => admitted(&json!(map)),
        Err(Error::Api(status)) => refused(status.code.into(), &status.message),
        Err(other) => other.to_string(),
    }
}

/// The parts that a patch may have changed; an empty map counts as absent.
fn admitted(object: &Value) -> String {
    let parts = ["/data", "/metadata/annotations", "/metadata/finalizers"].map(|part| object.pointer(part));
    let parts = parts.map(|part| {
        part.filter(|part| **part != Value::Null && **part != json!({})).map(ToString::to_string)
    });
    format!("admitted {parts:?}")
}

/// The two JSON parsers word their errors differently, and the API server names a line of its source.
fn refused(code: i32, message: &str) -> String {
    let until = [
        "json parse error: ",
        "undecodable patch in webhook response: ",
        "json: cannot unmarshal",
        " in scheme ",
    ];
    let cut = until.iter().filter_map(|end| message.find(end)).min();
    format!("refused {code} {}", &message[..cut.unwrap_or(message.len())])
}
