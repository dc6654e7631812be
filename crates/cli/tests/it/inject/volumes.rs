//! The volumes of pods, and those that a StatefulSet makes from its claim templates.

use serde_json::Value;

use super::json;
use crate::fixture::{Folder, POD, TARGET};

/// Regression test: `scratch` was mounted over the claim's data, and `backup` was left out.
#[test]
fn pods_of_a_stateful_set_have_the_volumes_of_its_claims() {
    let of = |name: &str, parts: &str| {
        let (head, _) = TARGET.split_once("  containerPatches:").unwrap();
        format!("---\n{}{parts}", head.replace("name: target", &format!("name: {name}")))
    };
    let backup = "  volumes: [{name: more, emptyDir: {}}]\n  sidecars: [{name: backup, image: i, volumeMounts: [{name: data, mountPath: /data}, {name: more, mountPath: /more}]}]\n";
    let rules = of("backup", backup) + &of("scratch", "  volumes: [{name: data, emptyDir: {}}]\n");
    let set = |volumes: Value| {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}], "volumes": volumes}});
        let claims = json!([{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]);
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"template": template, "volumeClaimTemplates": claims}})
    };
    for volumes in [json!(null), json!([{"name": "own", "emptyDir": {}}, {"name": "data", "emptyDir": {}}])] {
        let set = set(volumes.clone()).to_string();
        let folder = Folder::with(&[("rules.yaml", &rules), ("db.json", &set)]);
        let done = folder.run("inject -f db.json --rules rules.yaml -o json");
        done.tells("rule scratch was left out: volume `data` exists already");
        let spec = &json(&done.out)["spec"]["template"]["spec"];
        let mut expected = volumes.as_array().cloned().unwrap_or_default();
        expected.push(json!({"name": "more", "emptyDir": {}}));
        assert_eq!(
            (&spec["volumes"], &spec["initContainers"][0]["name"]),
            (&json!(expected), &json!("backup"))
        );
        assert!(folder.run("try db.json --rules rules.yaml").stdout().ends_with("second pass: no change\n"));
    }
}

/// Regression test: the list of the second rule took the place of that of the first.
#[test]
fn each_of_several_rules_adds_its_volumes_to_a_pod_without_volumes() {
    let (head, _) = TARGET.split_once("  containerPatches:").unwrap();
    let of = |name: &str| {
        let head = head.replace("name: target", &format!("name: {name}"));
        format!("---\n{head}  volumes: [{{name: {name}, emptyDir: {{}}}}]\n")
    };
    let folder = Folder::with(&[("rules.yaml", &(of("a") + &of("b"))), ("pod.yaml", POD)]);
    let done = folder.run("inject -f pod.yaml --rules rules.yaml -o json");
    let volumes = json!([{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]);
    assert_eq!(json(&done.out)["spec"]["volumes"], volumes);
}

/// Regression test: the commands ended with `cannot remove at /spec/template/spec/volumes/0/persistentVolumeClaim`.
#[test]
fn changes_to_the_volume_of_a_claim_are_not_in_the_template() {
    let of = |name: &str, parts: &str| {
        let (head, _) = TARGET.split_once("  containerPatches:").unwrap();
        format!(
            "---\n{}{parts}",
            head.replace("name: target", &format!("name: {name}"))
                .replace("match: {", "match: {namespaceSelector: {matchLabels: {team: blue}}, ")
        )
    };
    // The hook of best-effort rules gets the volume that the required one added after those of the claims.
    let more = of("first", "  required: true\n  volumes: [{name: more, emptyDir: {}}]\n");
    let rules = [
        (
            "more",
            more + &of(
                "then",
                "  onConflict: override\n  volumes: [{name: data, emptyDir: {}}, {name: more, hostPath: {path: /m}}]\n",
            ),
        ),
        ("none", of("remove", "  remove: [{volumes: {name: data}}, {volumes: {name: old}}]\n")),
    ];
    let (own, old, data) =
        (json!({"name": "own", "secret": {}}), json!({"name": "old"}), json!({"name": "data"}));
    for volumes in [json!([]), json!([own, old]), json!([data, old, own])] {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "volumeMounts": [{"name": "own"}]}], "volumes": volumes}});
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"template": template, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}});
        for (what, rules) in &rules {
            let folder = Folder::with(&[("rules.yaml", rules), ("db.json", &set.to_string())]);
            let mut expected = volumes.as_array().cloned().unwrap();
            match *what {
                "more" => expected.push(json!({"name": "more", "hostPath": {"path": "/m"}})),
                _ => expected.retain(|volume| volume != &old),
            }
            for command in ["inject -f", "try"] {
                let done = folder.run(&format!(
                    "{command} db.json --rules rules.yaml --namespace-labels team=blue -o json"
                ));
                let spec = &done.exits(0).json()["spec"]["template"]["spec"];
                assert_eq!(spec["volumes"], json!(expected), "{command} {what}");
            }
        }
    }
}
