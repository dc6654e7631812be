//! Pods of a given size, and rules for them.

use serde_json::{Value, json};

/// A recorded request of kube-apiserver: a ReplicaSet creates a pod of four containers. More than half of the 6 KB
/// are `managedFields`.
const RECORDED: &str = include_str!("pod-create-by-controller.json");

/// The recorded pod, grown to about `size` bytes by more variables, mounts, annotations and their `managedFields`.
pub(crate) fn pod(size: usize) -> String {
    let unit = grown(1).len() - grown(0).len();
    grown(size.saturating_sub(grown(0).len()) / unit)
}

/// A pod with `count` variables.
pub(crate) fn variables(count: usize) -> String {
    let env: Vec<Value> =
        (0..count).map(|n| json!({"name": format!("V{n}"), "value": format!("$(V{})", n / 2)})).collect();
    let labels = json!({"labels": {"app": "web"}});
    json!({"metadata": labels, "spec": {"containers": [{"name": "app", "env": env}]}}).to_string()
}

fn grown(by: usize) -> String {
    let mut review: Value = serde_json::from_str(RECORDED).unwrap();
    let mut pod = review["request"]["object"].take();
    for n in 0..by {
        let (setting, secret) = (format!("SETTING_{n:05}"), format!("SECRET_{n:05}"));
        let url = format!("https://service-{n:05}.example.com:8443/path");
        pod["metadata"]["annotations"][format!("example.com/note-{n:05}")] = json!(url);
        let managed = &mut pod["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"];
        let managed = &mut managed["k:{\"name\":\"shop\"}"]["f:env"];
        managed[format!("k:{{\"name\":\"{setting}\"}}")] = json!({".": {}, "f:name": {}, "f:value": {}});
        let containers = pod["spec"]["containers"].as_array_mut().unwrap();
        let shop = containers.iter_mut().find(|container| container["name"] == "shop").unwrap();
        let env = shop["env"].as_array_mut().unwrap();
        let reference = json!({"secretKeyRef": {"name": "shop", "key": secret}});
        env.extend([json!({"name": setting, "value": url}), json!({"name": secret, "valueFrom": reference})]);
        let mount = json!({"name": "config", "mountPath": format!("/etc/shop/{n:05}"), "subPath": setting});
        shop["volumeMounts"].as_array_mut().unwrap().push(mount);
    }
    pod.to_string()
}

/// A rule that applies: a sidecar, a volume, three variables.
pub(crate) fn sidecar() -> String {
    document(
        "agent",
        "web",
        "
  sidecars:
  - {name: agent, image: 'registry.example.com/agent:1.4', volumeMounts: [{name: agent, mountPath: /agent}]}
  volumes: [{name: agent, emptyDir: {}}]
  containerPatches:
  - select: {all: true}
    env: [{name: AGENT_ONE, value: value}, {name: AGENT_TWO, value: value}, {name: AGENT_THREE, value: value}]",
    )
}

/// Rules that apply, each with a label, a volume, a variable and a mount of its own.
pub(crate) fn acting(count: usize) -> String {
    let one = |number: usize| {
        let spec = format!(
            "
  pod: {{labels: {{acting-{number}: 'yes'}}}}
  volumes: [{{name: acting-{number}, emptyDir: {{}}}}]
  containerPatches:
  - select: {{names: [shop]}}
    env: [{{name: ACTING_{number}, value: value}}]
    volumeMounts: [{{name: acting-{number}, mountPath: /acting/{number}}}]"
        );
        document(&format!("acting-{number}"), "web", &spec)
    };
    (0..count).map(one).collect()
}

/// Rules that match no pod of the bench.
pub(crate) fn for_others(count: usize) -> String {
    (0..count)
        .map(|number| {
            document(
                &format!("other-{number}"),
                &format!("other-{number}"),
                "\n  pod: {labels: {seen: 'yes'}}",
            )
        })
        .collect()
}

fn document(name: &str, app: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec:\n  match: {{objectSelector: {{matchLabels: {{app: {app}}}}}}}{spec}\n"
    )
}
