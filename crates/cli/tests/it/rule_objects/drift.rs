//! `vestibule drift` on a real API server: docs/how-to/find-lagging-pods.md, and what the page does not show.

use std::fmt::Debug;
use std::path::Path;

use serde_json::Value;
use vestibule_testenv::Options;

use super::{Cluster, kubectl};
use crate::cluster::addresses;
use crate::fixture::{Done, Folder, REQUIRED};
use crate::how_to::ROOT;
use crate::pages::block::Block;
use crate::wait;

/// A workload and a pod that are older than the rules and the injector.
const BEFORE: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  serviceName: db
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: shop}}
  template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: db, image: db}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: debug, namespace: shop, labels: {app: shop}}
spec: {containers: [{name: app, image: app}]}
";

const NAMESPACE: &str =
    "kubectl create namespace shop && (kubectl create serviceaccount default -n shop || true)";

/// Calls `run` until `is_wanted` holds for what it returns.
async fn until<T: Debug>(run: impl Fn() -> T, is_wanted: impl Fn(&T) -> bool) -> T {
    wait::until(async || run(), is_wanted).await.unwrap()
}

/// find-lagging-pods.md
#[tokio::test]
async fn the_commands_of_the_page_list_pods_with_other_rules() {
    let options = Options::default().controller_manager();
    let Some(cluster) = Cluster::start_with(&options, "--lagging-pods 1s").await else { return };
    let kubeconfig = cluster.environment.kubeconfig();
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/how-to/find-lagging-pods.md")).unwrap();
    let folder = Folder::with(&[("before.yaml", BEFORE)]);
    let run = |script: &str| kubectl(&cluster.environment, &cluster.tools, &folder, script);
    let drift =
        |arguments: &str| folder.run(&format!("drift {arguments} --kubeconfig {}", kubeconfig.display()));
    run(&format!("{NAMESPACE}; kubectl apply -f before.yaml")).exits(0);
    let db = "kubectl get pod db-0 -n shop -o jsonpath='{.metadata.labels.team}'";
    until(|| run(db), |done| done.code() == 0).await;
    drift("-n shop")
        .exits(0)
        .prints("")
        .tells("the cluster has no rules")
        .tells("2 pods: each has the rules in force");
    let server = cluster.replica("first").await;

    let binary = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap();
    let mut blocks = 0;
    for block in Block::all(&page) {
        let text = block.text.replace("vestibule-system", &cluster.home);
        if let Some(name) = block.file() {
            folder.write(name, &text);
        } else if block.has_commands() {
            let script = block.script().replace("vestibule-system", &cluster.home);
            let script = format!("PATH={}:$PATH\nexec 2>&1\n{script}", binary.display());
            let output = block.output();
            // The number in the status follows, and the last block lists pods whose output is not shown.
            let fits = |done: &Done| done.out.trim_end().starts_with(output.trim_end());
            let printed = until(|| run(&script), |done| fits(done) || !script.contains(".status.")).await;
            assert!(fits(&printed), "{script}\n{}\nis not\n{output}", printed.out);
            if script.contains("rollout restart") {
                until(|| run(db), |done| done.out == "blue").await;
            }
            blocks += 1;
        }
    }
    assert_eq!(blocks, 5, "blocks of the page");
    drift("-n shop").exits(1);

    // For scripts.
    let report: Value = drift("-n shop -o json").exits(1).json();
    assert_eq!(report["pods"], 2);
    let [of_db, of_debug] = report["workloads"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&of_db["kind"], &of_db["name"]), (&"StatefulSet".into(), &"db".into()));
    assert_eq!(of_db["restart"], "kubectl rollout restart statefulset/db -n shop");
    assert_eq!(
        of_db["rules"],
        serde_json::json!([{"rule": "team", "state": "older", "uncertain": null, "pods": ["db-0"]}])
    );
    assert_eq!((&of_debug["restart"], &of_debug["rules"][0]["state"]), (&Value::Null, &"notInjected".into()));

    // The rights of the page are enough, and those to pods are needed.
    let home = &cluster.home;
    let bind = format!(
        "kubectl create serviceaccount auditor -n {home}
        kubectl create clusterrolebinding drift --clusterrole=drift --serviceaccount={home}:auditor
        kubectl create rolebinding drift -n {home} --role=drift --serviceaccount={home}:auditor"
    );
    run(&bind).exits(0);
    let auditor = cluster.environment.service_account_kubeconfig(home, "auditor").await.unwrap();
    let audit = || {
        folder.run(&format!(
            "drift -n shop -o json --injector-namespace {home} --kubeconfig {}",
            auditor.display()
        ))
    };
    let audited = until(audit, |done| done.code() != 2).await;
    assert_eq!(audited.exits(1).json(), report);
    run("kubectl patch clusterrole drift --type=json -p '[{\"op\": \"replace\", \"path\": \"/rules/0/resources\", \"value\": [\"pods\"]}]'").exits(0);
    let audited = until(audit, |done| done.out.contains("the labels of the namespace are not known")).await;
    audited.exits(1).tells("labels of namespaces cannot be read");
    run("kubectl delete clusterrole drift").exits(0);
    until(audit, |done| done.code() == 2).await.tells("orbidden");

    // An ephemeral container is neither changed nor lost unsaid.
    run("kubectl debug db-0 -n shop --image=busybox --container=look && kubectl debug debug -n shop --image=busybox --container=look").exits(0);
    let shown = "kubectl get pod db-0 -n shop -o jsonpath='{.spec.ephemeralContainers[*].name} {.metadata.labels.team}'";
    run(shown).prints("look blue");
    drift("-n shop").exits(1).shows("pod db-0 loses its ephemeral containers by a restart: look");
    folder
        .run(&format!("explain pod/debug -n shop --kubeconfig {}", kubeconfig.display()))
        .exits(0)
        .shows("ephemeral container look: left alone, as rules change none");

    // The metric counts what pods carry.
    let (_, probes) = addresses(&server).await;
    let metric = |line: &'static str| {
        until(|| crate::served::page(probes, "/metrics"), move |page| page.lines().any(|found| found == line))
    };
    metric("vestibule_lagging_pods{rule=\"team\",reason=\"older\"} 1").await;
    run("kubectl delete injection team").exits(0);
    drift("-n shop").exits(1).shows("rule team  removed          db-0\n");
    metric("vestibule_lagging_pods{rule=\"\",reason=\"removed\"} 1").await;
}

/// A rule in which the user counts, an exemption for users, and a list of more than one page.
#[tokio::test]
async fn what_depends_on_the_user_is_uncertain() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    let pod = |number: usize| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{number:03}, namespace: shop, labels: {{app: shop}}}}\nspec: {{containers: [{{name: app, image: app}}]}}\n"
        )
    };
    let pods: Vec<String> = (0..251).map(pod).collect();
    let rule = |name: &str, spec: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec: {{match: {{objectSelector: {{matchLabels: {{app: shop}}}}}}, {spec}pod: {{labels: {{team: blue}}}}}}\n"
        )
    };
    let settings = "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {name: injector}\nspec: {exemptions: [{users: ['system:serviceaccount:ops:*']}]}\n";
    let folder = Folder::with(&[
        ("pods.yaml", &pods.join("---\n")),
        (
            "user.yaml",
            &rule(
                "user",
                "matchConditions: [{name: robot, expression: \"request.userInfo.username == 'robot'\"}], ",
            ),
        ),
        ("plain.yaml", &rule("plain", "")),
        ("settings.yaml", settings),
        ("required.yaml", &REQUIRED.replace("[default, demo]", "[shop]").replace("app: web", "app: shop")),
        ("odd.yaml", &pod(999).replace("spec: {", "spec: {volumes: [{name: data, configMap: {name: a}}], ")),
    ]);
    let run = |script: &str| kubectl(&cluster.environment, &cluster.tools, &folder, script);
    let kubeconfig = cluster.environment.kubeconfig();
    let drift =
        |arguments: &str| folder.run(&format!("drift {arguments} --kubeconfig {}", kubeconfig.display()));
    // No injector runs: the API server stores rules and pods as they are.
    run(&format!("{NAMESPACE}; kubectl create -f pods.yaml && kubectl apply -f user.yaml")).exits(0);
    let done = drift("-n shop");
    done.exits(0).shows("uncertain: the rule reads the user who creates the pod");
    done.tells("251 of 251 pods lag, in 251 workloads; whether they would be changed is uncertain");

    run("kubectl delete injection user && kubectl apply -f plain.yaml").exits(0);
    let done = drift("-A");
    done.exits(1).tells("251 of 251 pods lag, in 251 workloads\n");
    assert!(!done.out.contains("uncertain") && done.out.contains("Pod shop/p250: 1 pod\n"), "{}", done.out);

    // A required rule in conflict with a pod that carries nothing yet.
    run("kubectl delete injection plain && kubectl apply -f required.yaml && kubectl create -f odd.yaml")
        .exits(0);
    drift("-n shop")
        .exits(1)
        .shows("  rule data  not injected     p250\n")
        .shows("  rule data  would be denied  p999\n");

    run("kubectl delete injection data && kubectl apply -f plain.yaml -f settings.yaml").exits(0);
    drift("-n shop").exits(0).shows("uncertain: an exemption is for the user who creates the pod");

    let off = "kubectl patch injectorsettings injector --type=merge -p '{\"spec\": {\"mode\": \"off\"}}'";
    run(off).exits(0);
    drift("-n shop").exits(0).prints("").tells("a pod that is made again would get no rules");
    drift("-n absent").fails(2, "namespaces \"absent\" not found");
}
