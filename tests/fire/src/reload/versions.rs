//! Rule documents: good versions, and bad versions that must never reach a pod.

/// Version `number` for the pods of `namespace`: a required rule with a sidecar, and another rule with a variable. Every
/// injected part names the version.
pub(super) fn good(number: usize, namespace: &str) -> String {
    text(&format!("v{number}"), namespace)
}

/// A version with an error in its documents.
pub(super) fn bad(number: usize, namespace: &str) -> String {
    let text = text(&format!("bad{number}"), namespace);
    match number % 4 {
        // An unknown field.
        0 => text.replace("env:", "envs:"),
        // Invalid YAML.
        1 => text.replace("spec:", "spec: ["),
        // Two rules with the same name.
        2 => text.replace("name: banner", "name: meter"),
        // A required rule without a namespace selector, which would match every pod of the cluster.
        _ => text
            .replace("namespaceSelector: {", "objectSelector: {")
            .replace("kubernetes.io/metadata.name: ", "name: "),
    }
}

/// The settings document that sets the mode.
pub(super) fn settings(mode: &str) -> String {
    format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: switch}}\nspec: {{mode: {mode}}}\n"
    )
}

fn text(version: &str, namespace: &str) -> String {
    format!(
        "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {{name: meter}}
spec:
  required: true
  match: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}}}
  sidecars:
  - name: meter
    image: meter:{version}
    mode: regular
    env: [{{name: VERSION, value: {version}}}]
    volumeMounts: [{{name: meter, mountPath: /etc/meter}}]
  volumes: [{{name: meter, configMap: {{name: meter-{version}}}}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {{name: banner}}
spec:
  match: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}}}
  containerPatches:
  - select: {{index: 0}}
    env: [{{name: BANNER, value: {version}}}]
"
    )
}
