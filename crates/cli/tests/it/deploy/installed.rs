//! The ways to install, on a real API server by the real tools. Each leaves nothing behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};
use vestibule_testenv::{Child, Options, Service, Session, Tools, start_or_skip, tools_or_skip};

use super::{NAMESPACE, manifests};
use crate::cluster::{JSON, addresses, replica, send};
use crate::fixture::{Done, Folder, finish, with_kubectl};
use crate::how_to::ROOT;
use crate::pages::block::Block;

pub(super) struct Cluster {
    pub(super) tools: Tools,
    pub(super) environment: Session,
}

impl Cluster {
    async fn start() -> Option<Self> {
        Self::start_with(&Options::default()).await
    }

    pub(super) async fn start_with(options: &Options) -> Option<Self> {
        let tools = tools_or_skip().await?;
        let environment = start_or_skip(options).await?;
        Some(Self { tools, environment })
    }

    /// Runs a script with kubectl, in the folder of the repository.
    pub(super) fn run(&self, script: &str) -> Done {
        finish(with_kubectl(&self.environment, &self.tools, script).current_dir(ROOT), "")
    }

    fn vestibule(&self, arguments: &str) -> Command {
        let mut command = Folder::with(&[]).command(arguments);
        command.arg("--kubeconfig").arg(self.environment.kubeconfig()).current_dir("/");
        command
    }

    /// The names of all objects, except those that the API server itself makes and renews.
    fn objects(&self) -> BTreeSet<String> {
        let script = "kubectl get -A -o name --ignore-not-found $(kubectl api-resources --verbs=list -o name \
                      | grep -v -e ^events -e ^leases -e ^componentstatuses | paste -sd ,)";
        let listed = self.run(script).stdout();
        listed.lines().map(str::to_owned).collect()
    }

    /// Checks that there is nothing that was not there `before`, besides the namespace and what the API server puts into one.
    fn assert_gone(&self, before: &BTreeSet<String>) {
        let of_the_namespace =
            |name: &str| name == "namespace/vestibule-system" || name == "configmap/kube-root-ca.crt";
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let after = self.objects();
            let left: Vec<_> = after.difference(before).filter(|name| !of_the_namespace(name)).collect();
            if left.is_empty() {
                return;
            }
            // The API server removes the APIService of a definition a moment later.
            assert!(Instant::now() < end, "left behind: {left:#?}");
        }
    }

    /// Does what the controller of namespaces does at the end. Everything in the namespace is deleted first.
    async fn finalize_namespace(&self) {
        let uri = format!("/api/v1/namespaces/{NAMESPACE}");
        let client = self.environment.admin().unwrap();
        let mut found = send(&client, Method::GET, &uri, JSON, &Value::Null).await.object();
        assert!(found["metadata"]["deletionTimestamp"].is_string(), "{found}");
        found["spec"]["finalizers"] = json!([]);
        send(&client, Method::PUT, &format!("{uri}/finalize"), JSON, &found).await.object();
    }
}

/// The commands of a block of docs/how-to/install.md.
fn from_page(begins: &str) -> String {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/how-to/install.md")).unwrap();
    let mut blocks =
        Block::all(&page).into_iter().filter(|block| block.text.starts_with(&format!("$ {begins}")));
    format!("set -e\n{}", blocks.next().unwrap().script())
}

#[tokio::test]
async fn kubectl_and_kustomize_install_and_remove_everything() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    for begins in ["kubectl apply --server-side -f", "kubectl apply --server-side -k"] {
        let script = from_page(begins);
        cluster.run(&script).exits(0);
        let components =
            "deploy/components/autoscaling/autoscaler.yaml,deploy/components/priority-class/class.yaml";
        let taken = cluster.run(&format!("kubectl apply --server-side --dry-run=server -f {components}"));
        taken.exits(0).shows("horizontalpodautoscaler").shows("priorityclass");
        // Again: no object changes.
        let apply = script.lines().find(|line| line.starts_with("kubectl apply")).unwrap();
        let again = cluster.run(&apply.replace("apply", "diff"));
        assert_eq!((again.code(), again.out.as_str()), (0, ""), "{script}: {}", again.err);
        cluster.run(&format!("{} --wait=false", apply.replace("apply --server-side", "delete"))).exits(0);
        cluster.run("kubectl wait --for=delete --timeout=60s crd/injections.vestibule.dev crd/namespacedinjections.vestibule.dev").exits(0);
        cluster.assert_gone(&before);
        // No controller ends a namespace here, and objects cannot be made in one that ends.
        cluster.finalize_namespace().await;
    }
}

#[tokio::test]
async fn helm_installs_upgrades_and_uninstalls() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    for helm in [&cluster.tools.helm3, &cluster.tools.helm4] {
        let programs = Folder::with(&[]);
        std::os::unix::fs::symlink(helm, programs.path().join("helm")).unwrap();
        let with_helm =
            |script: &str| cluster.run(&format!("PATH={}:$PATH\n{script}", programs.path().display()));
        with_helm(&from_page("helm install")).exits(0).shows("kubectl apply -f rule.yaml");
        cluster
            .run("kubectl get deployment injector -n vestibule-system -o jsonpath={.spec.replicas}")
            .prints("3");
        // The definitions stay, and with them the rules, until they are deleted too.
        let remove = from_page("helm uninstall");
        let (helm_alone, rest) = remove.split_at(remove.find("kubectl").unwrap());
        with_helm(helm_alone).exits(0);
        cluster.run("kubectl get crd injections.vestibule.dev injectorsettings.vestibule.dev").exits(0);
        cluster.run(rest).exits(0);
        cluster.assert_gone(&before);
        cluster.finalize_namespace().await;
    }
}

/// A replica as the printed Deployment has it, behind this Service.
pub(super) async fn serve(cluster: &Cluster, service: &Service) -> Child {
    let target = format!("{NAMESPACE}/injector:{}", service.port());
    let objects = manifests(NAMESPACE, &format!("--service {target}")).objects();
    let command = replica(&cluster.environment, NAMESPACE, &objects).await;
    let server = cluster.environment.spawn("injector", &command).unwrap();
    let (address, probes) = addresses(&server).await;
    service.add_replica(address, Some(probes)).unwrap();
    server
}

#[tokio::test]
async fn install_waits_until_the_webhook_is_called_and_uninstall_leaves_nothing() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    finish(&mut cluster.vestibule("uninstall"), "").exits(0).tells("nothing is installed");

    let rehearsed = finish(&mut cluster.vestibule("install --dry-run"), "");
    rehearsed.exits(0).tells("taken    ClusterRole injector").tells("new      namespace vestibule-system");
    cluster.assert_gone(&before);

    // No kubelet and no proxy run here: a Service of the environment leads to a replica, and `install` changes that one.
    cluster.run("kubectl create namespace vestibule-system").exits(0);
    let service = cluster.environment.service(NAMESPACE, "injector").await.unwrap();

    // Of several ports each needs a name.
    let name = r#"[{"op": "add", "path": "/spec/ports/0/name", "value": "test"}]"#;
    cluster.run(&format!("kubectl patch service injector -n {NAMESPACE} --type json -p '{name}'")).exits(0);

    // Without a replica the command says what is missing.
    let late = finish(&mut cluster.vestibule("install --timeout 1s"), "");
    late.fails(1, "the API server does not call injector after")
        .tells("0 of 2 pods available; no replica has registered");

    let server = serve(&cluster, &service).await;
    let script = with_vestibule(&from_page("vestibule install"));
    let mut install = with_kubectl(&cluster.environment, &cluster.tools, &script);
    let done = tokio::task::spawn_blocking(move || finish(&mut install, "")).await.unwrap();
    assert_eq!(done.code(), 0, "{}{}", done.err, server.log());
    done.tells("upgrade  ghcr.io/vestibule-dev/vestibule:").tells("the API server calls injector");

    // What the replica wrote, caBundle and entries, is no difference for a GitOps tool that applies the same objects.
    let bundle = "kubectl get validatingwebhookconfiguration injector -o jsonpath='{.webhooks[0].clientConfig.caBundle}'";
    assert!(!cluster.run(bundle).stdout().is_empty());
    for _ in 0..5 {
        let drift = cluster
            .run("kubectl diff --server-side --field-manager=vestibule-install -f deploy/install.yaml");
        assert_eq!((drift.code(), drift.out.as_str()), (0, ""), "{}", drift.err);
    }

    let elsewhere = finish(&mut cluster.vestibule("install -n elsewhere"), "");
    elsewhere.fails(2, "injector is installed in namespace vestibule-system already");
    drop(server);
    drop(service);

    let kept = finish(&mut cluster.vestibule("uninstall"), "");
    kept.exits(0).tells("deleted  Secret vestibule-system/injector-ring").tells("--all deletes them too");
    cluster.run("kubectl get crd injections.vestibule.dev").exits(0);
    cluster
        .run(&with_vestibule(&from_page("vestibule uninstall")))
        .exits(0)
        .tells("deleted  Namespace vestibule-system");
    // The environment has made it for its Service, and no controller removes it here.
    cluster.run(&format!("kubectl delete endpointslice injector -n {NAMESPACE}")).exits(0);
    cluster.assert_gone(&before);
    let leases = cluster.run(&format!("kubectl get leases -n {NAMESPACE} -o name")).stdout();
    assert_eq!(leases, "");
}

pub(super) fn with_vestibule(script: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap();
    format!("PATH={}:$PATH\n{script}", folder.display())
}

#[tokio::test]
async fn install_names_missing_rights_and_changes_nothing() {
    let Some(cluster) = Cluster::start().await else { return };
    let before = cluster.objects();
    let kubeconfig = cluster.environment.api_server().user_kubeconfig("reader").unwrap();
    let mut command = Folder::with(&[]).command("install");
    command.arg("--kubeconfig").arg(kubeconfig).current_dir("/");
    let refused: Done = finish(&mut command, "");
    refused.fails(1, "nothing was changed").tells("ClusterRole injector: ").tells("User \"reader\" cannot");
    refused.tells("Deployment vestibule-system/injector: ").tells("cannot patch resource \"deployments\"");
    cluster.assert_gone(&before);
}
