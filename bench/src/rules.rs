//! Rules for the injector.

use crate::mutation;

/// How many rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rules {
    /// Rules that act on the object, each with a sidecar, a volume and an annotation.
    pub acting: usize,
    /// Rules that match other objects.
    pub others: usize,
}

/// The documents: the acting rules first.
#[must_use]
pub fn text(rules: Rules) -> String {
    let acting = (0..rules.acting).map(acting);
    let others = (0..rules.others).map(other);
    acting.chain(others).collect()
}

/// The first rule makes the change of every server; the others make the same under another name.
fn acting(number: usize) -> String {
    let name = mutation::name(number);
    document(
        &name,
        "web",
        &format!(
            "
  pod: {{annotations: {{bench.example.com/{name}: '1.4'}}}}
  sidecars:
  - name: {name}
    image: registry.example.com/agent:1.4
    args: ['--listen=:15000']
    volumeMounts: [{{name: {name}, mountPath: /agent}}]
    mode: regular
    position: {{containers: last}}
  volumes: [{{name: {name}, emptyDir: {{}}}}]"
        ),
    )
}

fn other(number: usize) -> String {
    let app = format!("other-{number}");
    document(&app, &app, "\n  pod: {labels: {seen: 'yes'}}")
}

fn document(name: &str, app: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec:\n  targets: [pods, deployments]\n  match: {{objectSelector: {{matchLabels: {{app: {app}}}}}}}{spec}\n"
    )
}
