use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::*;
use crate::Operation::{Create, Update};
use crate::{Change, Context, Reject, on};

async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
    Ok(pod)
}

async fn pass(_: Change<Deployment>, _: Context) -> Result<(), Reject> {
    Ok(())
}

fn problems(app: &App) -> Vec<String> {
    app.check().unwrap_err().problems
}

#[test]
fn a_failure_policy_must_be_named() {
    let app = App::new("demo").mutate("label", on::<Pod>([Create]), same);
    let [problem] = &*problems(&app) else { panic!("one problem") };
    assert!(problem.contains("hook `label`") && problem.contains(".fail_open()"), "{problem}");
    assert!(app.registration(&Target::service("shop/hook").unwrap(), "").is_err());
}

#[test]
fn everything_wrong_is_said_at_once() {
    let app = App::new("Demo")
        .mutate("a_b", on::<Pod>([]).fail_open().timeout_seconds(31).namespaces("in (x)"), same)
        .mutate("twice", on::<Pod>([Create]).fail_open(), same)
        .validate("twice", on::<Deployment>([Create]).fail_open(), pass);
    let said = problems(&app).join("\n");
    for expected in
        ["`Demo`", "becomes a path", "at least one operation", "1 to 30", "`in (x)`", "name is taken"]
    {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    assert!(problems(&App::new("empty"))[0].contains("no hook"));
}

#[test]
fn the_registration_is_safe_by_default() {
    let app = App::new("demo")
        .mutate("label", on::<Pod>([Create]).namespaces("injection=enabled").fail_open(), same)
        .validate("guard", on::<Deployment>([Create, Update]).fail_closed(), pass);
    let registration = app.registration(&Target::service("shop/hook:8443").unwrap(), "PEM").unwrap();
    let mutating = json!(registration.mutating.unwrap());
    assert_eq!(mutating["metadata"]["name"], "demo");
    assert_eq!(
        mutating["webhooks"],
        json!([{
            "name": "label.demo.vestibule.dev",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "caBundle": "UEVN",
                "service": {"namespace": "shop", "name": "hook", "path": "/mutate/label", "port": 8443},
            },
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {
                "matchLabels": {"injection": "enabled"},
                "matchExpressions": [{
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["kube-node-lease", "kube-public", "kube-system", "shop"],
                }],
            },
            "objectSelector": {},
            "reinvocationPolicy": "IfNeeded",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "sideEffects": "None",
            "timeoutSeconds": 5,
        }])
    );
    let validating = json!(registration.validating.unwrap());
    assert_eq!(validating["webhooks"][0]["failurePolicy"], "Fail");
    assert_eq!(validating["webhooks"][0]["rules"][0]["operations"], json!(["CREATE", "UPDATE"]));
    assert_eq!(validating["webhooks"][0]["clientConfig"]["service"]["path"], "/validate/guard");
}

#[test]
fn a_url_has_no_namespace_of_its_own() {
    let app = App::new("demo").mutate("label", on::<Pod>([Create]).fail_open(), same);
    let registration = app.registration(&Target::url("https://127.0.0.1:8443").unwrap(), "PEM").unwrap();
    let webhook = json!(registration.objects()[0]["webhooks"][0]);
    assert_eq!(webhook["clientConfig"]["url"], "https://127.0.0.1:8443/mutate/label");
    let excluded = webhook["namespaceSelector"]["matchExpressions"][0]["values"].as_array().unwrap().len();
    assert_eq!(excluded, 3);
}
