//! The checks of fields that rules make, compared with those of the API server: neither accepts what the other refuses.

#[path = "../../../../crates/rules/tests/it/relations/rows.rs"]
mod relations;
#[path = "../../../../crates/rules/tests/it/field_checks/rows.rs"]
mod rows;

use serde_json::{Value, json};
use vestibule_admission::keys::schema;
use vestibule_patch::Document;
use vestibule_rules::{Resource, RuleSet, Subject, Verb, yaml};

use crate::cluster::{Cluster, Namespace};
use rows::{ALIKE, object, refused};

/// A rule with these lines.
fn rule(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r}}\nspec:\n  match: {{os: any, objectSelector: {{matchLabels: {{app: web}}}}}}\n{lines}"
    )
}

fn pod(spec: &str, container: &str) -> Value {
    let mut pod: Value = serde_json::from_str(&object(spec, container)).unwrap();
    (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
    pod["metadata"]["name"] = json!("web");
    pod
}

/// `pod` after `rule`. A rule that is left out leaves it as it is.
fn injected(pod: &Value, rule: &str) -> Value {
    let rules = RuleSet::load([("r.yaml", rule)], schema("", "v1", "Pod")).unwrap();
    let object = pod.to_string();
    let decision = rules.evaluate(&Subject::new(&object, Resource::Pods, Verb::Create, "n")).unwrap();
    let mut document = Document::parse(&object).unwrap();
    document.apply_all(decision.patch()).unwrap();
    serde_json::from_str(&document.to_json()).unwrap()
}

/// `pod` as `rule` would make it without any check.
fn unchecked(mut pod: Value, rule: &str) -> Value {
    let document = yaml::read("r.yaml", rule).unwrap().remove(0).to_kubectl_json();
    let rule: Value = serde_json::from_str(&document).unwrap();
    let spec = &rule["spec"];
    merge(
        &mut pod["metadata"],
        &json!({"annotations": spec["pod"]["annotations"], "labels": spec["pod"]["labels"]}),
    );
    merge(&mut pod["spec"], &spec["pod"]["spec"]);
    merge(&mut pod["spec"], &json!({"volumes": spec["volumes"], "containers": spec["sidecars"]}));
    for block in spec["containerPatches"].as_array().into_iter().flatten() {
        let lists = if block["select"]["init"] == true { 2 } else { 1 };
        for list in ["containers", "initContainers"].into_iter().take(lists) {
            for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
                let names = block["select"]["names"].as_array();
                if names.is_none_or(|names| names.contains(&container["name"])) {
                    merge(container, block);
                }
            }
        }
    }
    pod
}

/// Members are merged. An item takes the place of one with its key.
fn merge(onto: &mut Value, from: &Value) {
    match (onto, from) {
        (_, Value::Null) => {}
        (onto, Value::Object(members)) => {
            let of_rules = ["mode", "replace", "select"];
            for (name, value) in members.iter().filter(|(name, _)| !of_rules.contains(&name.as_str())) {
                merge(&mut onto[name], value);
            }
        }
        (Value::Array(onto), Value::Array(items)) => {
            for item in items {
                // A mount is merged into that of its path.
                let is_same =
                    |old: &&mut Value| old["mountPath"].is_string() && old["mountPath"] == item["mountPath"];
                if let Some(old) = onto.iter_mut().find(is_same) {
                    merge(old, item);
                    continue;
                }
                let key = if item["containerPort"].is_null() { "name" } else { "containerPort" };
                onto.retain(|old| item[key].is_null() || old[key] != item[key]);
                onto.push(item.clone());
            }
        }
        (onto, value) => *onto = value.clone(),
    }
}

/// An answer to `pod` that is not `expected`.
async fn surprise(namespace: &Namespace, pod: &Value, expected: u16) -> Option<String> {
    let reply = namespace.create_dry_run(pod).await;
    (reply.status != expected).then(|| format!("wanted {expected}: {}\n{pod}", reply.text))
}

#[tokio::test]
async fn the_api_server_refuses_pods_of_the_rules_that_are_left_out_and_no_others() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let mut surprises = Vec::new();
    for (lines, spec, container, _) in refused() {
        let (before, rule) = (pod(spec, container), rule(&lines));
        assert_eq!(injected(&before, &rule), before, "{lines}");
        surprises.extend(surprise(&namespace, &before, 201).await);
        surprises.extend(surprise(&namespace, &unchecked(before, &rule), 422).await);
    }
    for (lines, spec, container) in ALIKE {
        let before = pod(spec, container);
        let after = injected(&before, &rule(lines));
        assert_ne!(after, before, "{lines}");
        surprises.extend(surprise(&namespace, &after, 201).await);
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[tokio::test]
async fn the_api_server_refuses_each_pod_of_rules_that_are_refused_and_no_others() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let web = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "i"}]}});
    let mut surprises = Vec::new();
    for (lines, why) in relations::refused() {
        // Admission plugins refuse what they compute from classes.
        let status = if why.contains("ClassName") { 403 } else { 422 };
        surprises.extend(surprise(&namespace, &unchecked(web.clone(), &rule(&lines)), status).await);
    }
    for lines in relations::taken() {
        let after = injected(&web, &rule(&lines));
        assert_ne!(after, web, "{lines}");
        surprises.extend(surprise(&namespace, &after, 201).await);
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}
