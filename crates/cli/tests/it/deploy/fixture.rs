//! A cluster with the real tools, replicas of the injector on it, and the removal of an installation.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_testenv::{
    Binaries, Child, Options, Service, Session, Tools, leave_out_part, start_or_skip, tools_or_skip, until,
};

use super::{NAMESPACE, manifests};
use crate::api;
use crate::cluster::{addresses, replica};
use crate::fixture::{Done, Folder, finish, with_kubectl};
use crate::how_to::ROOT;
use crate::wait;

pub(super) struct Cluster {
    pub(super) tools: Tools,
    pub(super) environment: Session,
}

impl Cluster {
    pub(super) async fn start() -> Option<Self> {
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

    pub(super) fn vestibule(&self, arguments: &str) -> Command {
        let mut command = Folder::with(&[]).command(arguments);
        command.arg("--kubeconfig").arg(self.environment.kubeconfig()).current_dir("/");
        command
    }

    /// The object at this path of the API server.
    pub(super) async fn read(&self, uri: &str) -> Value {
        let client = self.environment.admin().unwrap();
        api::get(&client, uri).await.object()
    }

    /// The namespace of the installation, and a Service in it that leads to the replicas: no kubelet and no proxy run here.
    pub(super) async fn service(&self) -> Service {
        let enforced = "kubectl label namespace/vestibule-system pod-security.kubernetes.io/enforce=restricted \
             app.kubernetes.io/name=injector";
        self.run(&format!("kubectl create namespace {NAMESPACE} && {enforced}")).exits(0);
        let service = self.environment.service(NAMESPACE, "injector").await.unwrap();
        // An installation adds a port, and of several ports each needs a name. It takes no Service over that lacks its label.
        let name = r#"[{"op": "add", "path": "/spec/ports/0/name", "value": "test"}]"#;
        self.run(&format!(
            "kubectl patch service injector -n {NAMESPACE} --type json -p '{name}' \
             && kubectl label service injector -n {NAMESPACE} app.kubernetes.io/name=injector"
        ))
        .exits(0);
        service
    }

    /// The names of all objects, except those that the API server itself makes and renews.
    pub(super) fn objects(&self) -> BTreeSet<String> {
        let script = "kubectl get -A -o name --ignore-not-found $(kubectl api-resources --verbs=list -o name \
                      | grep -v -e ^events -e ^leases -e ^componentstatuses | paste -sd ,)";
        let listed = self.run(script).stdout();
        listed.lines().map(str::to_owned).collect()
    }

    /// Waits until the API server lists the objects of each definition. A running replica lists them too.
    ///
    /// A definition that is deleted before its storage is ready may stay for five minutes: the controller of kube-apiserver 1.36
    /// that deletes its objects fails to list them, meets a conflict when it tries again, and then waits for its next resync.
    pub(super) async fn definitions_are_served(&self) {
        let client = self.environment.admin().unwrap();
        for plural in ["injections", "injectorsettings", "namespacedinjections"] {
            let uri = format!("/apis/vestibule.dev/v1alpha1/{plural}");
            let is_listed = async || api::get(&client, &uri).await.status.is_success();
            until(&uri, Duration::from_secs(60), is_listed).await.unwrap();
        }
    }

    /// Checks that there is nothing that was not there `before`, besides the namespace and what the API server puts into one.
    pub(super) async fn assert_gone(&self, before: &BTreeSet<String>) {
        let of_the_namespace =
            |name: &String| name == "namespace/vestibule-system" || name == "configmap/kube-root-ca.crt";
        let left = async || {
            let mut left = &self.objects() - before;
            left.retain(|name| !of_the_namespace(name));
            left
        };
        // The API server removes the APIService of a definition a moment later.
        wait::until(left, BTreeSet::is_empty).await.unwrap();
    }

    /// Checks that nothing in the deleted namespace can hold its end, and that it ends.
    ///
    /// The controller of namespaces runs only now: it would delete what a removal leaves behind, before the test could see it.
    pub(super) async fn namespace_ends(&self) {
        let listed = self.run(&format!(
            "kubectl get -n {NAMESPACE} -o json --ignore-not-found $(kubectl api-resources --namespaced --verbs=list -o name | paste -sd ,)"
        ));
        let listed = listed.stdout();
        let listed: Value =
            if listed.is_empty() { json!({}) } else { serde_json::from_str(&listed).unwrap() };
        for object in listed["items"].as_array().into_iter().flatten() {
            let (kind, metadata) = (object["kind"].as_str().unwrap(), &object["metadata"]);
            assert!(metadata["finalizers"].is_null(), "{kind} {metadata} holds the namespace");
            // The API server's own ConfigMap, and Events, which expire.
            let is_foreign = metadata["name"] == "kube-root-ca.crt" || kind == "Event";
            assert!(is_foreign, "{kind} {} is left in the namespace", metadata["name"]);
        }
        let uri = format!("/api/v1/namespaces/{NAMESPACE}");
        let client = self.environment.admin().unwrap();
        let mut found = self.read(&uri).await;
        assert!(found["metadata"]["deletionTimestamp"].is_string(), "{found}");
        assert!(found["metadata"]["finalizers"].is_null(), "{found}");
        assert_eq!(found["spec"]["finalizers"], json!(["kubernetes"]));

        let program = match Binaries::find().unwrap().kube_controller_manager() {
            Ok(program) => program,
            Err(error) => {
                leave_out_part(&format!("the test ends the namespace: {error}"));
                found["spec"]["finalizers"] = json!([]);
                api::put(&client, &format!("{uri}/finalize"), &found).await.object();
                return;
            }
        };
        let mut command = Command::new(program);
        command.args(["--controllers=namespace-controller", "--leader-elect=false", "--secure-port=0"]);
        command.arg("--kubeconfig").arg(self.environment.kubeconfig());
        let controller = self.environment.spawn("namespace-controller", &command).unwrap();
        let read = async || api::get(&client, &uri).await;
        let ended = wait::until(read, |reply| reply.status == StatusCode::NOT_FOUND).await;
        ended.unwrap_or_else(|reply| panic!("hangs: {}\n{}", reply.body, controller.log()));
    }
}

/// A script that finds `vestibule` in PATH.
pub(super) fn with_vestibule(script: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap();
    format!("PATH={}:$PATH\n{script}", folder.display())
}

/// A replica as the printed Deployment has it, behind this Service.
pub(super) async fn serve(cluster: &Cluster, service: &Service) -> Child {
    let objects = manifests(NAMESPACE, "").objects();
    serve_as("injector", cluster, service, objects).await.0
}

/// A pod of the Deployment among `objects`, with its arguments and the rights that it has there.
pub(super) async fn serve_as(
    name: &str,
    cluster: &Cluster,
    service: &Service,
    mut objects: Vec<Value>,
) -> (Child, SocketAddr) {
    let deployment = objects.iter_mut().find(|object| object["kind"] == "Deployment").unwrap();
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array_mut().unwrap();
    // No proxy runs here, so the port that leads to the replica is not the one of the manifests.
    let target = arguments.iter_mut().find(|word| word.as_str().unwrap().starts_with("--service="));
    *target.unwrap() = json!(format!("--service={NAMESPACE}/injector:{}", service.port()));
    let mut command = replica(&cluster.environment, NAMESPACE, &objects).await;
    let server = cluster.environment.spawn(name, command.env("POD_NAME", name)).unwrap();
    let (address, probes) = addresses(&server).await;
    service.add_replica(address, Some(probes)).unwrap();
    (server, address)
}
