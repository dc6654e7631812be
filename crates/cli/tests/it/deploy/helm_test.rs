//! `helm test` on a real API server. No kubelet runs here: the test starts the pod's command, and tells the API server how it ended.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vestibule_testenv::Service;

use super::fixture::{Cluster, serve_as};
use super::{NAMESPACE, folder, template_with};
use crate::api;
use crate::fixture::{Done, Folder, finish, pod_environment, with_kubectl};

const POD: &str = "/api/v1/namespaces/vestibule-system/pods/injector-test";

/// Runs `helm test`, and the pod that it makes. Returns both outputs, the pod's first.
async fn run(cluster: &Cluster, helm: &Path, service: &Service) -> (Done, Done) {
    // helm would replace the pod of a failed test; the wait below is for the pod of this one.
    let pod = format!("pod/injector-test -n {NAMESPACE}");
    cluster.run(&format!("kubectl delete {pod} --ignore-not-found")).exits(0);
    let script = format!("{} test vestibule -n {NAMESPACE} --timeout 2m", helm.display());
    let mut command = with_kubectl(&cluster.environment, &cluster.tools, &script);
    let testing = tokio::task::spawn_blocking(move || finish(&mut command, ""));
    let client = cluster.environment.admin().unwrap();
    cluster.run(&format!("kubectl wait --for=create --timeout=60s {pod}")).exits(0);
    let pod = cluster.read(POD).await;
    let account = pod["spec"]["serviceAccountName"].as_str().unwrap();
    let kubeconfig = cluster.environment.service_account_kubeconfig(NAMESPACE, account).await.unwrap();
    let done = as_container(&pod["spec"]["containers"][0], &kubeconfig, service);
    let phase = if done.code() == 0 { "Succeeded" } else { "Failed" };
    let status = json!({"status": {"phase": phase}});
    api::merge_patch(&client, &format!("{POD}/status"), &status).await.object();
    (done, testing.await.unwrap())
}

/// The command of the container, with the address that leads to the replicas here.
fn as_container(container: &Value, kubeconfig: &PathBuf, service: &Service) -> Done {
    assert!(container["command"].is_null(), "the image's own");
    let mut arguments: Vec<_> =
        container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let address = arguments.iter_mut().find(|word| word.starts_with("--address=")).unwrap();
    assert_eq!(address, "--address=injector.vestibule-system.svc:443");
    *address = format!("--address={}", service.address());
    let mut command = Folder::with(&[]).command("");
    command.args(arguments).arg("--kubeconfig").arg(kubeconfig).envs(pod_environment(kubeconfig));
    finish(command.current_dir("/"), "")
}

async fn tests_the_installation(cluster: &Cluster, helm: &Path) {
    let service = cluster.service().await;
    let chart = folder().join("helm/vestibule");
    cluster
        .run(&format!(
            "{} install vestibule {} -n {NAMESPACE} --take-ownership",
            helm.display(),
            chart.display()
        ))
        .exits(0);
    let objects = cluster.run(&format!("{} get manifest vestibule -n {NAMESPACE}", helm.display())).objects();
    let (replica, _) = serve_as("one", cluster, &service, objects).await;
    service.wait_for_replicas(1).await.unwrap();
    // There are no rules, so that the other configuration stays empty.
    let bundle = "kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=60s";
    cluster.run(&format!("{bundle} validatingwebhookconfiguration/injector")).exits(0);

    let (pod, helms) = run(cluster, helm, &service).await;
    assert_eq!((pod.code(), helms.code()), (0, 0), "{}{}{}{}", pod.out, pod.err, helms.out, helms.err);
    helms.shows("Phase:").shows("Succeeded");
    pod.shows("accepted").shows("mutating/injector  in sync").shows("validating/injector  in sync");
    // The pod of a test that succeeds is deleted.
    cluster
        .run(&format!("kubectl wait --for=delete --timeout=60s pod/injector-test -n {NAMESPACE}"))
        .exits(0);

    // No replica serves, and none is there to repair what follows.
    replica.kill().unwrap();
    replica.wait().await.unwrap();
    let (pod, helms) = run(cluster, helm, &service).await;
    assert_eq!((pod.code(), helms.code()), (1, 1), "{}{}{}", pod.out, pod.err, helms.out);
    pod.shows("validating/injector  in sync").shows("would be refused");
    assert!(helms.err.contains("failed"), "{}", helms.err);

    // A bundle with another CA.
    let other = Folder::with(&[]).run("certs new --service vestibule-system/injector -o secret").objects();
    let foreign = &other[0]["data"]["ca.crt"];
    assert!(foreign.is_string(), "{other:?}");
    let patch = json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": foreign}]);
    cluster
        .run(&format!("kubectl patch validatingwebhookconfiguration injector --type json -p '{patch}'"))
        .exits(0);
    let (pod, helms) = run(cluster, helm, &service).await;
    assert_eq!((pod.code(), helms.code()), (1, 1), "{}{}{}", pod.out, pod.err, helms.out);
    pod.shows("validating/injector  differs").shows("is not of the ring");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_3_tests_the_certificates() {
    let Some(cluster) = Cluster::start().await else { return };
    tests_the_installation(&cluster, &cluster.tools.helm3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_4_tests_the_certificates() {
    let Some(cluster) = Cluster::start().await else { return };
    tests_the_installation(&cluster, &cluster.tools.helm4).await;
}

/// The API server admits the pod of every setting in a namespace of the `restricted` standard.
#[tokio::test]
async fn the_pod_of_the_test_passes_the_restricted_standard() {
    let Some(cluster) = Cluster::start().await else { return };
    let _service = cluster.service().await;
    cluster.run(&format!("kubectl create serviceaccount injector -n {NAMESPACE}")).exits(0);
    for helm in [&cluster.tools.helm3, &cluster.tools.helm4] {
        for (values, asks_the_service) in [
            (json!({}), true),
            (json!({"imagePullSecrets": [{"name": "registry"}]}), true),
            (json!({"apiServer": {"cidrs": ["10.0.0.0/28"]}}), false),
            (json!({"apiServer": {"cidrs": ["10.0.0.0/28"]}, "hostNetwork": true}), true),
        ] {
            let objects =
                template_with(helm, &values, &["--show-only", "templates/tests/certificate.yaml"]).objects();
            let [pod] = objects.as_slice() else { panic!("{objects:?}") };
            let files = Folder::with(&[("pod.json", &pod.to_string())]);
            let file = files.path().join("pod.json");
            let made = cluster.run(&format!("kubectl create --dry-run=server -o json -f {}", file.display()));
            made.exits(0);
            let container = &made.json()["spec"]["containers"][0];
            let asks = container["args"].to_string().contains("--address=");
            assert_eq!(asks, asks_the_service, "{values}");
            assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        }
    }
    // The API server checks the standard.
    let privileged = r#"kubectl run other -n vestibule-system --image=nginx --dry-run=server --overrides='{"spec": {"serviceAccountName": "injector"}}'"#;
    cluster.run(privileged).fails(1, "violates PodSecurity");
}
