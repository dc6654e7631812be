//! The files in deploy/: install.yaml, the base and the overlays for kustomize, the Helm chart. They hold what
//! `vestibule manifests` prints. `VESTIBULE_UPDATE_GOLDEN=1` writes the generated ones.

mod drift;
mod fixture;
mod gitops;
mod helm_test;
mod installed;
mod optional;
mod session;
mod upgrade;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use vestibule_testenv::{Tools, tools_or_skip};

use crate::fixture::{Done, Folder, finish};
use crate::how_to::ROOT;

const NAMESPACE: &str = "vestibule-system";
const IMAGE: &str = concat!("ghcr.io/vestibule-dev/vestibule:", env!("CARGO_PKG_VERSION"));
const GENERATED: &str = "# Printed by `vestibule manifests`; VESTIBULE_UPDATE_GOLDEN=1 cargo test -p vestibule-cli deploy writes it again.\n";

/// The objects that flags ask for, as YAML; the Namespace is not among them.
fn manifests(namespace: &str, flags: &str) -> Done {
    Folder::with(&[]).run(&format!("manifests --namespace {namespace} --image {IMAGE} {flags}"))
}

/// The Namespace of the files.
fn namespace(standard: &str) -> Value {
    let labels =
        json!({"app.kubernetes.io/name": "injector", "pod-security.kubernetes.io/enforce": standard});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
}

fn folder() -> PathBuf {
    Path::new(ROOT).join("deploy")
}

/// Compares a file with its generated text, or writes it.
fn golden(path: &str, text: &str) {
    let file = folder().join(path);
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == text,
        "deploy/{path} is not what `vestibule manifests` prints; VESTIBULE_UPDATE_GOLDEN=1 writes it"
    );
}

/// Objects by kind, namespace and name. Helm and kustomize may sort them.
fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let key = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        format!("{} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
    };
    objects.into_iter().map(|object| (key(&object), object)).collect()
}

#[track_caller]
fn assert_equal(found: Vec<Value>, wanted: Vec<Value>, what: &str) {
    let (found, wanted) = (by_name(found), by_name(wanted));
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{what}");
    for (name, object) in &wanted {
        assert_eq!(&found[name], object, "{what}: {name}");
    }
}

#[test]
fn the_files_for_kubectl_and_kustomize_are_what_manifests_prints() {
    let labels = "    app.kubernetes.io/name: injector\n    pod-security.kubernetes.io/enforce: restricted\n";
    let namespace =
        format!("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  labels:\n{labels}  name: {NAMESPACE}\n");
    let text = format!("{GENERATED}{namespace}{}", manifests(NAMESPACE, "").stdout());
    golden("install.yaml", &text);
    golden("base/installation.yaml", &text);
}

#[test]
fn the_generated_templates_of_the_chart_are_what_manifests_prints() {
    let printed = manifests("the-namespace-of-the-release", "").stdout();
    assert!(!printed.contains("{{"), "a text for Helm would need quotes");
    let comment = |text: &str| format!("{{{{- /* {} */ -}}}}\n", text.trim_start_matches("# ").trim_end());
    let of = |kinds: &[&str]| -> String {
        let documents = printed.split("---\n").filter(|document| {
            document
                .lines()
                .find_map(|line| line.strip_prefix("kind: "))
                .is_some_and(|kind| kinds.contains(&kind))
        });
        documents.map(|document| format!("---\n{document}")).collect()
    };
    // Quoted: the name of a namespace may be a number to YAML.
    let release =
        |text: &str| text.replace("the-namespace-of-the-release", "{{ .Release.Namespace | quote }}");
    let rights = of(&["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"]);
    let pods = "- apiGroups:\n  - \"\"\n  resources:\n  - pods\n  verbs:\n  - list\n";
    assert_eq!(rights.matches(pods).count(), 1, "the right to count lagging pods");
    let counting = format!("{{{{- if ne .Values.laggingPods \"off\" }}}}\n{pods}{{{{- end }}}}\n");
    let rights = rights.replace(pods, &counting);
    // A release in `default` has these rights in its own Role. Two objects of one name: Helm applies the second, or fails.
    let of_default: Vec<_> = rights
        .split_inclusive("---\n")
        .filter(|document| document.contains("  namespace: default\n"))
        .collect();
    let of_default = format!("---\n{}", of_default.concat().trim_end_matches("---\n"));
    assert_eq!(rights.matches(&of_default).count(), 1, "the Role and its binding in `default`");
    let elsewhere = format!("{{{{- if ne .Release.Namespace \"default\" }}}}\n{of_default}{{{{- end }}}}\n");
    let rights = rights.replace(&of_default, &elsewhere);
    let others = of(&[
        "Service",
        "PodDisruptionBudget",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]);
    let kept = "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n";
    let definitions = of(&["CustomResourceDefinition"]).replace("\nmetadata:\n", &format!("\n{kept}"));
    golden("helm/vestibule/templates/rights.yaml", &(comment(GENERATED) + &release(&rights)));
    golden("helm/vestibule/templates/service.yaml", &(comment(GENERATED) + &release(&others)));
    let definitions = format!("{{{{- if .Values.crds.install }}}}\n{definitions}{{{{- end }}}}\n");
    golden("helm/vestibule/templates/definitions.yaml", &(comment(GENERATED) + &definitions));
}

#[tokio::test]
async fn overlays_are_manifests_with_a_flag() {
    let Some(tools) = tools_or_skip().await else { return };
    let build = |path: &str| {
        let mut command = Command::new(&tools.kubectl);
        finish(command.arg("kustomize").arg(folder().join(path)), "").objects()
    };
    let wanted = |flags: &str, standard: &str| {
        [vec![namespace(standard)], manifests(NAMESPACE, flags).objects()].concat()
    };
    assert_equal(build("base"), wanted("", "restricted"), "base");
    assert_equal(build("overlays/host-network"), wanted("--host-network", "privileged"), "host-network");
    let mut ha = wanted("--replicas 3", "restricted");
    let deployment = ha.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
    let spread = &mut deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][0];
    spread["whenUnsatisfiable"] = json!("DoNotSchedule");
    // A control-plane node without pods counted as a place, and a roll-out on three other nodes waited for ever.
    spread["nodeTaintsPolicy"] = json!("Honor");
    assert_equal(build("overlays/ha"), ha, "ha");
}

/// `helm template` with these values. The pod of `helm test` is a hook.
fn template(helm: &Path, values: &Value) -> Done {
    template_with(helm, values, &["--no-hooks"])
}

fn template_with(helm: &Path, values: &Value, flags: &[&str]) -> Done {
    let folder_of_values = Folder::with(&[("values.yaml", &values.to_string())]);
    let mut command = Command::new(helm);
    command.args(["template", "vestibule", "--namespace", NAMESPACE]).args(flags);
    // A helm without the version of a release takes Kubernetes for 1.20.
    command.args(["--kube-version", "1.36.2", "--values"]);
    command.arg(folder_of_values.path().join("values.yaml")).arg(folder().join("helm/vestibule"));
    command.env("HOME", folder_of_values.path());
    finish(&mut command, "")
}

#[tokio::test]
async fn the_chart_is_manifests_with_flags() {
    let Some(tools) = tools_or_skip().await else { return };
    for (values, flags) in [
        (json!({}), ""),
        (json!({"replicas": 3, "priorityClassName": ""}), "--replicas 3 --priority-class none"),
        (json!({"hostNetwork": true}), "--host-network"),
        (json!({"laggingPods": "off"}), "--lagging-pods off"),
        (json!({"laggingPods": "1h"}), "--lagging-pods 1h"),
        (json!({"ports": {"https": 8443, "plain": 8080}}), "--port 8443 --metrics-port 8080"),
        (
            json!({"apiServer": {"cidrs": ["10.0.0.0/28", "fd00::/8"], "ports": [6444]}}),
            "--api-server-cidr 10.0.0.0/28,fd00::/8 --api-server-port 6444",
        ),
        (
            json!({"extraEnv": [{"name": "A", "value": "b"}], "extraArgs": ["--log-level=debug"]}),
            "--env A=b -- --log-level=debug",
        ),
    ] {
        for helm in [&tools.helm3, &tools.helm4] {
            let mut found = template(helm, &values).objects();
            for definition in found.iter_mut().filter(|object| object["kind"] == "CustomResourceDefinition") {
                let annotations = definition["metadata"].as_object_mut().unwrap().remove("annotations");
                assert_eq!(annotations, Some(json!({"helm.sh/resource-policy": "keep"})));
            }
            assert_equal(found, manifests(NAMESPACE, flags).objects(), flags);
        }
    }
}

/// The chart had two Roles `injector` there: `helm install` failed, or the replicas had no right to their Secret.
#[tokio::test]
async fn a_release_in_default_has_the_rights_of_manifests() {
    let Some(tools) = tools_or_skip().await else { return };
    for helm in [&tools.helm3, &tools.helm4] {
        let found = template_with(helm, &json!({}), &["--no-hooks", "--namespace", "default"]).objects();
        let roles = |objects: Vec<Value>| -> Vec<Value> {
            objects
                .into_iter()
                .filter(|object| object["kind"] == "Role" || object["kind"] == "RoleBinding")
                .collect()
        };
        let found = roles(found);
        assert_eq!(found.len(), 2);
        assert_equal(found, roles(manifests("default", "").objects()), "default");
    }
}

/// `helm test` waited for a pod that no node may run, or whose image no node may pull.
#[tokio::test]
async fn the_pod_of_the_test_runs_where_the_others_run() {
    let Some(tools) = tools_or_skip().await else { return };
    let terms =
        json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "arm", "operator": "DoesNotExist"}]}]});
    let nodes = json!({"requiredDuringSchedulingIgnoredDuringExecution": terms});
    let values = json!({
        "image": {"pullPolicy": "Never"},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"operator": "Exists"}],
        // A pod of its own must not keep away from the replicas.
        "affinity": {"nodeAffinity": nodes, "podAntiAffinity": {}},
    });
    for helm in [&tools.helm3, &tools.helm4] {
        let objects = template_with(helm, &values, &[]).objects();
        let pod = &objects.iter().find(|object| object["kind"] == "Pod").unwrap()["spec"];
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "Never");
        assert_eq!(pod["nodeSelector"], values["nodeSelector"]);
        assert_eq!(pod["tolerations"], values["tolerations"]);
        assert_eq!(pod["affinity"], json!({"nodeAffinity": nodes}));
    }
}

/// The API server took the name of the namespace for a number.
#[tokio::test]
async fn names_that_are_numbers_to_yaml_stay_texts_in_the_chart() {
    let Some(tools) = tools_or_skip().await else { return };
    let class = json!({"priorityClassName": "1000", "priorityClass": {"create": true}, "autoscaling": {"enabled": true}});
    for helm in [&tools.helm3, &tools.helm4] {
        let objects = template_with(helm, &class, &["--namespace", "2024"]).objects();
        for object in &objects {
            let names = [&object["metadata"]["name"], &object["metadata"]["namespace"]];
            assert!(names.iter().all(|name| name.is_string() || name.is_null()), "{object}");
            let subject = &object["subjects"][0]["namespace"];
            assert!(*subject == "2024" || subject.is_null(), "{object}");
        }
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        assert_eq!(deployment["spec"]["template"]["spec"]["priorityClassName"], "1000");
    }
}

/// As `vestibule manifests` refuses it: the container could not listen on both.
#[tokio::test]
async fn the_chart_refuses_one_port_for_both() {
    let Some(tools) = tools_or_skip().await else { return };
    for helm in [&tools.helm3, &tools.helm4] {
        for ports in [json!({"https": 9090}), json!({"https": 8443, "plain": 8443}), json!({"plain": 10250})]
        {
            let refused = template(helm, &json!({"ports": ports}));
            let says = refused.err.contains("give one of them another number");
            assert!(!refused.status.success() && says, "{ports}: {}", refused.err);
        }
    }
}

/// The API server refused the autoscaler after the other objects were made.
#[tokio::test]
async fn the_chart_refuses_an_autoscaler_whose_smallest_number_is_the_larger_one() {
    let Some(tools) = tools_or_skip().await else { return };
    for helm in [&tools.helm3, &tools.helm4] {
        let refused = template(helm, &json!({"autoscaling": {"enabled": true, "minReplicas": 7}}));
        let says = refused.err.contains("minReplicas is 7 and autoscaling.maxReplicas is 6");
        assert!(!refused.status.success() && says, "{}", refused.err);
        template(helm, &json!({"autoscaling": {"enabled": true, "minReplicas": 6}})).exits(0);
        template(helm, &json!({"autoscaling": {"minReplicas": 7}})).exits(0);
    }
}

#[tokio::test]
async fn the_chart_refuses_unknown_values_and_passes_on_the_others() {
    let Some(Tools { helm3, helm4, .. }) = tools_or_skip().await else { return };
    for helm in [&helm3, &helm4] {
        for values in [
            json!({"replica": 3}),
            json!({"image": {"digest": "abc"}}),
            // The tag has a value of its own: `web:1:0.1.0` is no image, and the pods would not start.
            json!({"image": {"repository": "registry.example.com:5000/web:1"}}),
            json!({"image": {"repository": "web@sha256:0"}}),
            json!({"image": {"repository": "web "}}),
            json!({"image": {"tag": ":1"}}),
            json!({"apiServer": {"cidrs": ["shop"]}}),
            json!({"laggingPods": "never"}),
            // `serve` takes neither: the pods would not start.
            json!({"laggingPods": "0s"}),
            json!({"laggingPods": "1m1h"}),
            json!({"crds": {"instal": false}}),
            json!({"autoscaling": {"averageCPU": "80%"}}),
            json!({"priorityClass": {"value": 1000000001}}),
        ] {
            let done = template(helm, &values);
            assert!(
                !done.status.success() && done.err.contains("values don't meet"),
                "{values}: {}",
                done.err
            );
        }
    }
    let digest = format!("sha256:{}", "0".repeat(64));
    for values in [
        json!({"laggingPods": "60000ms"}),
        json!({"image": {"tag": format!("0.1.0@{digest}")}}),
        json!({"affinity": null}),
    ] {
        let done = template(&helm4, &values);
        assert!(done.status.success(), "{values}: {}", done.err);
    }
    let values = json!({
        "image": {"repository": "[fd00::1]:5000/vestibule", "digest": digest, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "crds": {"install": false},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "podAnnotations": {"a": "b"},
        "resources": {"limits": {"memory": "1Gi"}},
    });
    let objects = template(&helm3, &values).objects();
    assert!(!objects.iter().any(|object| object["kind"] == "CustomResourceDefinition"));
    let template = &objects.iter().find(|object| object["kind"] == "Deployment").unwrap()["spec"]["template"];
    let (pod, container) = (&template["spec"], &template["spec"]["containers"][0]);
    assert_eq!(container["image"], format!("[fd00::1]:5000/vestibule@{digest}"));
    assert_eq!(
        (&container["imagePullPolicy"], &pod["imagePullSecrets"][0]["name"]),
        (&json!("Always"), &json!("registry"))
    );
    assert_eq!(
        (&pod["nodeSelector"]["disk"], &pod["tolerations"][0]["operator"]),
        (&json!("fast"), &json!("Exists"))
    );
    assert_eq!(
        (&pod["affinity"], &template["metadata"]["annotations"]["a"]),
        (&json!({"nodeAffinity": {}}), &json!("b"))
    );
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
}

#[test]
fn every_value_has_a_comment_and_a_schema() {
    let chart = folder().join("helm/vestibule");
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(chart.join("values.schema.json")).unwrap()).unwrap();
    let text = fs::read_to_string(chart.join("values.yaml")).unwrap();
    let (mut previous, mut parent, mut documented) = ("", "", Vec::new());
    for line in text.lines() {
        let name = line.trim_start().split(':').next().unwrap();
        if !line.trim_start().starts_with('#') && line.contains(':') {
            let is_parent = line.ends_with(':');
            let is_child = line.starts_with("  ");
            assert!(is_parent || previous.trim_start().starts_with('#'), "{line} has no comment");
            if is_parent {
                parent = name;
            } else {
                documented.push(if is_child { format!("{parent}.{name}") } else { name.to_owned() });
            }
        }
        // The two members of resources have one comment.
        let of_resources = line.starts_with("resources:") || line.starts_with("  requests:");
        previous = if of_resources { "#" } else { line };
    }
    let mut known = Vec::new();
    let properties = |value: &Value| value["properties"].as_object().cloned().unwrap_or_default();
    for (name, value) in properties(&schema).into_iter().filter(|(name, _)| name != "global") {
        let children = properties(&value);
        match children.is_empty() {
            true => known.push(name),
            false => known.extend(children.keys().map(|child| format!("{name}.{child}"))),
        }
    }
    documented.sort();
    known.sort();
    assert_eq!(documented, known);
}
