//! The autoscaler and the priority class, which `vestibule manifests` does not print: the chart and the components for kustomize have
//! the same ones.

use std::process::Command;

use serde_json::{Value, json};
use vestibule_testenv::tools_or_skip;

use super::{IMAGE, NAMESPACE, assert_equal, folder, manifests, namespace, template};
use crate::fixture::{Folder, finish};

/// The objects that the components add to `deploy/base`, and the changed Deployment.
fn expected() -> Vec<Value> {
    let mut objects = manifests(NAMESPACE, "--priority-class injector").objects();
    let deployment = objects.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
    deployment["spec"].as_object_mut().unwrap().remove("replicas").unwrap();
    let labels = json!({"app.kubernetes.io/name": "injector"});
    objects.push(json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"labels": labels, "name": "injector", "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "injector"},
            "minReplicas": 2,
            "maxReplicas": 6,
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu",
                "target": {"type": "AverageValue", "averageValue": "250m"},
            }}],
        },
    }));
    objects.push(json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"labels": labels, "name": "injector"},
        "description": "The creation of other pods may depend on these.",
        "value": 1_000_000_000,
    }));
    objects
}

#[tokio::test]
async fn the_components_add_an_autoscaler_and_a_priority_class() {
    let Some(tools) = tools_or_skip().await else { return };
    // kustomize reads folders by relative paths only.
    let own = Folder::with(&[]);
    let up = "../".repeat(own.path().canonicalize().unwrap().components().count() - 1);
    let deploy = format!("{up}{}", folder().canonicalize().unwrap().display());
    let kustomization = json!({
        "resources": [format!("{deploy}/base")],
        "components": [format!("{deploy}/components/autoscaling"), format!("{deploy}/components/priority-class")],
    });
    std::fs::write(own.path().join("kustomization.yaml"), kustomization.to_string()).unwrap();
    let mut command = Command::new(&tools.kubectl);
    let built = finish(command.arg("kustomize").arg(own.path()), "").objects();
    assert_equal(built, [vec![namespace("restricted")], expected()].concat(), "components");
}

#[tokio::test]
async fn the_chart_adds_an_autoscaler_and_a_priority_class() {
    let Some(tools) = tools_or_skip().await else { return };
    let values = json!({
        "autoscaling": {"enabled": true},
        "priorityClassName": "injector",
        "priorityClass": {"create": true},
        // They are compared elsewhere.
        "crds": {"install": false},
    });
    let mut expected = expected();
    expected.retain(|object| object["kind"] != "CustomResourceDefinition");
    for helm in [&tools.helm3, &tools.helm4] {
        assert_equal(template(helm, &values).objects(), expected.clone(), "chart");
        let refused = template(helm, &json!({"priorityClass": {"create": true}}));
        assert!(
            !refused.status.success() && refused.err.contains("needs the name of a new class"),
            "{}",
            refused.err
        );
    }
}

/// The printed objects restrict pods and network, keep a replica during a drain of nodes, and spread the replicas.
#[test]
fn the_manifests_restrict_spread_and_protect_the_pods() {
    let objects = manifests(NAMESPACE, "").objects();
    let of = |kind: &str| {
        objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
    };
    let pod = &of("Deployment")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["image"], IMAGE);
    // The Pod Security Standard `restricted`, and a read-only root beyond it.
    assert_eq!(
        (&pod["securityContext"]["runAsNonRoot"], &pod["securityContext"]["runAsUser"]),
        (&json!(true), &json!(65532))
    );
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let security = &container["securityContext"];
    assert_eq!(security["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(
        (&security["allowPrivilegeEscalation"], &security["readOnlyRootFilesystem"]),
        (&json!(false), &json!(true))
    );
    let spread = pod["topologySpreadConstraints"].as_array().unwrap();
    let keys: Vec<_> = spread.iter().map(|constraint| &constraint["topologyKey"]).collect();
    assert_eq!(keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert_eq!(of("PodDisruptionBudget")["spec"]["maxUnavailable"], 1);
    assert_eq!(of("NetworkPolicy")["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    let installed = std::fs::read_to_string(folder().join("install.yaml")).unwrap();
    assert!(installed.contains("pod-security.kubernetes.io/enforce: restricted\n"));
}
