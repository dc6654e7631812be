//! `vestibule try`: input and output formats.

use serde_json::{Value, json};

use crate::fixture::{Folder, POD, TARGET, target_in_namespaces};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_patch_leads_to_the_object() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD)]);
    let patch = folder.run("try pod.yaml --rules rules.yaml -o patch").stdout();
    let after = folder.run("try pod.yaml --rules rules.yaml -o json").stdout();
    let folder = Folder::with(&[("nothing.yaml", &TARGET.replace("app: web", "app: other"))]);
    let mut before = json(&folder.run_with_stdin("try - --rules nothing.yaml -o json", POD).stdout());
    // Every operation of this patch is an `add` of a member.
    for operation in json(&patch).as_array().unwrap() {
        assert_eq!(operation["op"], "add");
        let (parent, name) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
        before.pointer_mut(parent).unwrap()[name] = operation["value"].clone();
    }
    assert_eq!(before, json(&after));
    assert_eq!(before["spec"]["containers"][0]["env"], json!([{"name": "TARGET", "value": "hall"}]));
}

#[test]
fn order_and_digits_survive() {
    let folder = Folder::with(&[("rules.yaml", TARGET), ("pod.yaml", POD)]);
    for output in ["json", "yaml"] {
        let out = folder.run(&format!("try pod.yaml --rules rules.yaml -o {output}")).stdout();
        assert!(out.contains("1.0") && out.contains("12345678901234567890"), "{out}");
        let at = |word: &str| out.find(word).unwrap_or_else(|| panic!("{word} in {out}"));
        assert!(
            at("apiVersion") < at("kind")
                && at("kind") < at("metadata")
                && at("futureField") < at("containers")
        );
    }
}

#[test]
fn a_template_without_metadata_gets_it() {
    let rules = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: x}\nspec:\n  match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}\n  pod: {labels: {seen: \"yes\"}}\n";
    let folder = Folder::with(&[("rules.yaml", rules)]);
    for template in
        [json!({"spec": {"containers": []}}), json!({"metadata": null, "spec": {"containers": []}})]
    {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                                "spec": {"template": template}});
        let done = folder.run_with_stdin("try - -n shop --rules rules.yaml -o json", &deployment.to_string());
        let after = json(&done.stdout());
        assert_eq!(after["spec"]["template"]["metadata"], json!({"labels": {"seen": "yes"}}));
    }
}

#[test]
fn rules_for_deployments_act_on_the_deployment() {
    let rules = TARGET.replace("spec:\n", "spec:\n  targets: [deployments]\n");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                            "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}}});
    let folder = Folder::with(&[("rules.yaml", &rules), ("pod.yaml", POD)]);
    let after = folder.run_with_stdin("try - --rules rules.yaml -o json", &deployment.to_string()).stdout();
    assert_eq!(json(&after)["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "TARGET");
    folder.run("try pod.yaml --rules rules.yaml").exits(0).shows("no rule is for objects of this kind");
}

#[test]
fn lists_and_documents_come_out_in_order() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\n";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "listed", "labels": {"app": "web"}},
         "spec": {"containers": [{"name": "app"}]}},
    ]});
    let files = [("rules.yaml", TARGET), ("all.yaml", &*format!("{POD}---\n{service}---\n{list}\n"))];
    let folder = Folder::with(&files);

    let out = json(&folder.run("try all.yaml --rules rules.yaml -o json").stdout());
    assert_eq!(out["kind"], "List");
    let names: Vec<_> =
        out["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["web", "front", "listed"]);

    let yaml = folder.run("try all.yaml --rules rules.yaml -o yaml").stdout();
    assert_eq!(yaml.matches("\n---\n").count(), 2, "{yaml}");
    assert_eq!(yaml.matches("name: TARGET").count(), 2, "{yaml}");

    let patches = folder.run("try all.yaml --rules rules.yaml -o patch").stdout();
    let lines: Vec<Value> = patches.lines().map(json).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[1],
        json!({"object": {"apiVersion": "v1", "kind": "Service", "name": "front", "namespace": "default"}, "patch": []})
    );
    assert_eq!(lines[2]["patch"][0]["op"], "add");
}

#[test]
fn the_namespace_is_the_objects_own_else_the_flag() {
    let rules = target_in_namespaces("kubernetes.io/metadata.name: shop");
    let folder = Folder::with(&[("rules.yaml", &rules), ("pod.yaml", POD)]);
    let changed = |arguments: &str| {
        folder.run(&format!("try --rules rules.yaml {arguments}")).stdout().contains("TARGET")
    };
    assert!(!changed("pod.yaml"));
    assert!(changed("pod.yaml -n shop"));
    let own = POD.replace("{name: web,", "{name: web, namespace: shop,");
    let out = folder.run_with_stdin("try - --rules rules.yaml -n other", &own).stdout();
    assert!(out.starts_with("Pod shop/web") && out.contains("TARGET"), "{out}");
}
