//! Pods of a size, and rules for them.

use std::fmt::Write;

/// A pod of about `size` bytes: a third of it variables, a third an annotation, a third fields nobody changes.
pub(crate) fn pod(size: usize) -> String {
    let third = size / 3;
    let mut env = String::new();
    let mut number = 0;
    while env.len() < third {
        write!(
            env,
            r#",{{"name":"SETTING_{number}","value":"https://service-{number}.example.com:8443/path"}}"#
        )
        .unwrap();
        number += 1;
    }
    let annotation = "configuration ".repeat(third / 14);
    let mut managed = String::new();
    while managed.len() < third {
        write!(
            managed,
            r#",{{"manager":"kube-{number}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}}}}}}}}}}"#
        )
        .unwrap();
        number += 1;
    }
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"generateName":"web-6d5f-","labels":{{"app":"web"}},"annotations":{{"example.com/config":"{annotation}"}},"managedFields":[{}]}},"spec":{{"containers":[{{"name":"app","image":"registry.example.com/web:1.0","ports":[{{"containerPort":8080}}],"env":[{}],"resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}}}}}}],"volumes":[{{"name":"data","emptyDir":{{}}}}],"nodeSelector":{{"kubernetes.io/os":"linux"}}}}}}"#,
        managed.trim_start_matches(','),
        env.trim_start_matches(','),
    )
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
  containers:
  - select: {all: true}
    env: [{name: AGENT_ONE, value: value}, {name: AGENT_TWO, value: value}, {name: AGENT_THREE, value: value}]",
    )
}

/// Rules for pods that the bench has none of.
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
        "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec:\n  match: {{objects: {{labels: {{app: {app}}}}}}}{spec}\n"
    )
}
