//! The example rules on a real API server: the printed manifests, the arguments of the printed Deployment, a CA ring, and the
//! real controllers that make pods of Deployments and Jobs.

mod articles;
mod default_namespace;
mod leaks;
mod other_webhooks;
mod pods;
mod watched;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kube::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vestibule_testenv::{Child, Options, Service, Session, start_or_skip};

use crate::api::{self, Reply};
use crate::examples;
use crate::fixture::{Folder, finish, pod_environment};
use crate::wait;

/// An API server with a running injector. Nearly all of these tests share one, which ends with the process.
pub(crate) struct InstalledInjector {
    pub(crate) environment: Session,
    pub(crate) service: Service,
    pub(crate) server: Child,
    pub(crate) address: SocketAddr,
    pub(crate) probes: SocketAddr,
}

/// The shared API server, as a test uses it.
struct Cluster {
    injector: Arc<InstalledInjector>,
    client: Client,
}

/// The arguments of the printed Deployment, with free ports and the shortest supported waits.
fn arguments(manifests: &[Value]) -> Vec<String> {
    let deployment = manifests.iter().find(|manifest| manifest["kind"] == "Deployment").unwrap();
    let printed = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    let ours = ["--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--hold-cold=10s", "--hold=10s"];
    let replaced = |word: &&str| word.starts_with("--port") || word.starts_with("--metrics-listen");
    let printed = printed.iter().map(|word| word.as_str().unwrap()).filter(|word| !replaced(word));
    printed.chain(ours).map(str::to_owned).collect()
}

/// The output of `vestibule manifests` for an injector in namespace `home`, and its stderr.
pub(crate) fn print_manifests(rules: &Path, home: &str, service: &Service) -> (Vec<Value>, String) {
    let (rules, target) = (rules.display(), format!("{home}/injector:{}", service.port()));
    let printed = Folder::with(&[]).run(&format!(
        "manifests --rules {rules} --service {target} -n {home} --image registry.invalid/injector:test"
    ));
    let said = printed.err.clone();
    (printed.objects(), said)
}

/// The command of one replica, as the printed Deployment has it. Its rights are granted by then.
pub(crate) async fn replica(environment: &Session, home: &str, manifests: &[Value]) -> Command {
    replica_of("injector", environment, home, manifests).await
}

/// The same for an installation of another name, which is that of its account.
pub(crate) async fn replica_of(
    name: &str,
    environment: &Session,
    home: &str,
    manifests: &[Value],
) -> Command {
    environment.wait_until_granted(home, name, manifests).await.unwrap();
    let kubeconfig = environment.service_account_kubeconfig(home, name).await.unwrap();
    let mut command = Folder::with(&[]).command("");
    command.args(arguments(manifests)).arg(format!("--namespace={home}"));
    command.envs(pod_environment(&kubeconfig)).arg("--kubeconfig").arg(kubeconfig).current_dir("/");
    // Only a debug build reads it; others wait for 10 s.
    command.env("VESTIBULE_TEST_WAITS", "true");
    command
}

impl InstalledInjector {
    async fn start() -> Option<Self> {
        let options = Options::default().audit().controller_manager();
        let environment = start_or_skip(&options).await?;
        let home = environment.namespace(&[]).await.unwrap();
        let service = environment.service(home.name(), "injector").await.unwrap();
        let (manifests, _) = print_manifests(&examples::rules(), home.name(), &service);
        Some(Self::install(environment, home.name(), service, manifests, |_| {}).await)
    }

    /// Installs the injector and returns when the API server calls it. `change` may adjust the command.
    pub(crate) async fn install(
        environment: Session,
        home: &str,
        service: Service,
        manifests: Vec<Value>,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let client = environment.admin().unwrap();
        environment.apply(manifests.clone()).await.unwrap();
        let mut command = replica(&environment, home, &manifests).await;
        change(&mut command);
        let server = environment.spawn("injector", &command).unwrap();
        let (address, probes) = addresses(&server).await;
        service.add_replica(address, Some(probes)).unwrap();
        service.wait_for_replicas(1).await.unwrap();
        let injector = Self { environment, service, server, address, probes };
        injector.wait_until_called(&client).await;
        injector
    }

    /// The API server learns of the configuration and its bundle by a watch.
    async fn wait_until_called(&self, client: &Client) {
        let namespace = self.environment.namespace(&[("injection", "enabled")]).await.unwrap();
        let uri = format!("/api/v1/namespaces/{}/pods?dryRun=All", namespace.name());
        let created = async || api::post(client, &uri, &pod("probe")).await.body;
        let injected = wait::until(created, |pod| !pod["spec"]["initContainers"].is_null()).await;
        injected.unwrap_or_else(|pod| panic!("not injected: {pod}\n{}", self.server.log()));
    }
}

impl Cluster {
    /// [`None`] where there is no API server; the test is skipped and says so.
    async fn shared() -> Option<Self> {
        static INSTALLED: OnceCell<Option<Arc<InstalledInjector>>> = OnceCell::const_new();
        let injector =
            INSTALLED.get_or_init(async || InstalledInjector::start().await.map(Arc::new)).await.clone()?;
        Some(Self::of(injector))
    }

    fn of(injector: Arc<InstalledInjector>) -> Self {
        let client = injector.environment.admin().unwrap();
        Self { injector, client }
    }

    async fn namespace(&self, labels: &[(&str, &str)]) -> String {
        self.injector.environment.namespace(labels).await.unwrap().name().to_owned()
    }

    async fn create(&self, namespace: &str, object: &Value) -> Reply {
        api::post(&self.client, &collection(namespace, object), object).await
    }

    async fn create_dry_run(&self, namespace: &str, object: &Value) -> Reply {
        let uri = format!("{}?dryRun=All", collection(namespace, object));
        api::post(&self.client, &uri, object).await
    }

    async fn read(&self, namespace: &str, object: &Value) -> Value {
        let uri =
            format!("{}/{}", collection(namespace, object), object["metadata"]["name"].as_str().unwrap());
        api::get(&self.client, &uri).await.object()
    }

    async fn delete(&self, namespace: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let uri = format!("{}/{name}?gracePeriodSeconds=0", collection(namespace, object));
        api::delete(&self.client, &uri, &Value::Null).await.object();
    }

    async fn label(&self, namespace: &str, key: &str, value: &str) {
        let labels = json!({"metadata": {"labels": {key: value}}});
        api::merge_patch(&self.client, &format!("/api/v1/namespaces/{namespace}"), &labels).await.object();
    }

    /// The output of `vestibule explain` for a pod, with single spaces.
    fn explain(&self, namespace: &str, pod: &str) -> String {
        let mut command = Folder::with(&[]).command(&format!("explain pod/{pod} -n {namespace}"));
        command.arg("--kubeconfig").arg(self.injector.environment.kubeconfig()).current_dir("/");
        let done = finish(&mut command, "");
        let lines = done.stdout();
        let lines = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns when `there` holds for `object`. The injector learns of namespaces by a watch.
    async fn wait_until_injected(&self, namespace: &str, object: &Value, there: impl Fn(&Value) -> bool) {
        wait::until(async || self.create_dry_run(namespace, object).await.object(), there).await.unwrap();
    }

    /// The pods of a workload, once its controller has made `count`.
    async fn pods_made(&self, namespace: &str, count: usize) -> Vec<Value> {
        let uri = format!("/api/v1/namespaces/{namespace}/pods");
        let pods = async || {
            let list = api::get(&self.client, &uri).await.object();
            list["items"].as_array().unwrap().clone()
        };
        let made = wait::until(pods, |pods| pods.len() >= count).await;
        made.unwrap_or_else(|_| panic!("{}", self.injector.environment.controller_manager_log()))
    }
}

/// The addresses of a server and of its probes, once it serves.
pub(crate) async fn addresses(server: &Child) -> (SocketAddr, SocketAddr) {
    let addresses = server.wait_for_line(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let address = |which: &str| line[which].as_str()?.parse::<SocketAddr>().ok();
        (line["message"] == "serving").then(|| Some((address("address")?, address("probes")?)))?
    });
    addresses.await.unwrap()
}

/// A bare pod of one container, `app`.
pub(crate) fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "app", "image": "app"}]}})
}

/// The names in a list; empty without a list.
fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|item| item["name"].as_str().unwrap()).collect()
}

fn collection(namespace: &str, object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{version}/namespaces/{namespace}/{}s", object["kind"].as_str().unwrap().to_lowercase())
}
