//! Replicas of two releases beside each other, under load, on a real API server. `cargo xtask skew REVISION` builds the other release and
//! starts this test.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use vestibule_testenv::{Child, Options, Service, Session, leave_out, start_or_skip, until};

use crate::api;
use crate::cluster::{addresses, pod, print_manifests, replica};
use crate::examples;
use crate::fixture::{Folder, pod_environment};
use crate::wait;

const INJECTIONS: &str = "/apis/vestibule.dev/v1alpha1/injections";

/// How long each step may take.
const STEP: Duration = Duration::from_secs(120);

#[tokio::test]
async fn replicas_of_two_releases_serve_beside_each_other() {
    let Some(other) = std::env::var_os("VESTIBULE_OTHER_RELEASE") else {
        leave_out(
            "it is for two releases: `cargo xtask skew REVISION` builds the other one and runs this test",
        );
        return;
    };
    let ours = Folder::with(&[]).command("").get_program().to_owned();
    for programs in [[&other, &ours], [&ours, &other]] {
        let Some(cluster) = Cluster::start().await else { return };
        let load = Load::default();
        let [first, second] = programs.map(Path::new);
        let (replaced, address) = cluster.replica("first", first, 1).await;
        load.begin(&cluster.admin, &cluster.shop).await;
        let (kept, _) = cluster.replica("second", second, 2).await;
        cluster.rotate().await;
        cluster.add_rule("one", 2).await;

        cluster.service.remove_replica(address);
        replaced.terminate().unwrap();
        assert_eq!(replaced.wait().await.unwrap(), 0, "{}", replaced.log());
        cluster.add_rule("two", 1).await;
        load.end().await;
        kept.kill().unwrap();
    }
}

struct Cluster {
    environment: Session,
    admin: Client,
    home: String,
    shop: String,
    service: Service,
    manifests: Vec<Value>,
}

impl Cluster {
    /// The manifests of this release: an upgrade applies them before it replaces the pods, a return to the release before leaves them.
    async fn start() -> Option<Self> {
        let environment = start_or_skip(&Options::default()).await?;
        let admin = environment.admin().unwrap();
        let home = environment.namespace(&[]).await.unwrap().name().to_owned();
        let shop = environment.namespace(&[("injection", "enabled")]).await.unwrap().name().to_owned();
        let service = environment.service(&home, "injector").await.unwrap();
        // A rule that both releases can read.
        let (manifests, _) = print_manifests(&examples::rules().join("envoy.yaml"), &home, &service);
        environment.apply(manifests.clone()).await.unwrap();
        Some(Self { environment, admin, home, shop, service, manifests })
    }

    /// Starts `program` as a replica, and returns when the API server has `count` replicas to call.
    async fn replica(&self, name: &str, program: &Path, count: usize) -> (Child, std::net::SocketAddr) {
        let ours = replica(&self.environment, &self.home, &self.manifests).await;
        let mut command = Command::new(program);
        let kubeconfig = self.environment.service_account_kubeconfig(&self.home, "injector").await.unwrap();
        command
            .args(ours.get_args())
            .envs(pod_environment(&kubeconfig))
            .env("POD_NAME", name)
            .current_dir("/");
        let server = self.environment.spawn(name, &command).unwrap();
        let (address, probes) = addresses(&server).await;
        self.service.add_replica(address, Some(probes)).unwrap();
        let ready = self.service.wait_for_replicas(count).await;
        ready.unwrap_or_else(|error| panic!("{error}: {}", server.log()));
        (server, address)
    }

    /// Asks for a new CA and returns when the API server has it.
    async fn rotate(&self) {
        let before = api::ca_bundle(&self.admin).await;
        api::ask_for_rotation(&self.admin, &self.home).await;
        until("a rotation", STEP, async || api::ca_bundle(&self.admin).await != before).await.unwrap();
    }

    /// Makes an Injection and returns when `count` replicas have it in force.
    async fn add_rule(&self, name: &str, count: usize) {
        let rule = json!({
            "apiVersion": "vestibule.dev/v1alpha1",
            "kind": "Injection",
            "metadata": {"name": name},
            "spec": {"match": {"objectSelector": {"matchLabels": {"app": "web"}}}, "pod": {"labels": {name: "yes"}}},
        });
        api::post(&self.admin, INJECTIONS, &rule).await.object();
        let uri = format!("{INJECTIONS}/{name}");
        let read = async || api::get(&self.admin, &uri).await.object();
        let on_all = format!("{count} of {count} replicas");
        let is_in_force = |found: &Value| {
            let mut conditions = found["status"]["conditions"].as_array().into_iter().flatten();
            let says_all =
                |it: &Value| it["message"].as_str().is_some_and(|message| message.contains(&on_all));
            conditions.any(|it| it["type"] == "InForce" && it["reason"] == "AllReplicas" && says_all(it))
        };
        wait::until(read, is_in_force).await.unwrap();
        let made = create(&self.admin, &self.shop).await.unwrap();
        assert_eq!(made["metadata"]["labels"][name], "yes");
    }
}

/// Creates of pods of `app: web`, one after the other, at most 20 a second. Each of them has to get an init container.
#[derive(Default)]
pub(crate) struct Load {
    ended: Arc<AtomicBool>,
    created: Arc<AtomicUsize>,
    /// It returns what was wrong with some pods.
    task: std::sync::Mutex<Option<tokio::task::JoinHandle<Vec<String>>>>,
}

impl Load {
    /// Returns when the first pod is changed; each pod from then on has to be.
    pub(crate) async fn begin(&self, admin: &Client, namespace: &str) {
        let created = async || create(admin, namespace).await;
        wait::until(created, |pod| pod.as_ref().is_ok_and(is_injected)).await.unwrap().unwrap();
        let (admin, namespace) = (admin.clone(), namespace.to_owned());
        let (ended, created) = (Arc::clone(&self.ended), Arc::clone(&self.created));
        let task = tokio::spawn(async move {
            let mut wrong = Vec::new();
            let mut clock = interval(Duration::from_millis(50));
            clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !ended.load(Ordering::Relaxed) {
                clock.tick().await;
                match create(&admin, &namespace).await {
                    Ok(pod) if is_injected(&pod) => {}
                    Ok(pod) => wrong.push(format!("not injected: {pod}")),
                    Err(error) => wrong.push(error),
                }
                created.fetch_add(1, Ordering::Relaxed);
            }
            wrong
        });
        *self.task.lock().unwrap() = Some(task);
    }

    /// Ends after 100 further pods.
    pub(crate) async fn end(&self) {
        let before = self.created.load(Ordering::Relaxed);
        let more = async || self.created.load(Ordering::Relaxed) >= before + 100;
        until("100 further pods", STEP, more).await.unwrap();
        self.ended.store(true, Ordering::Relaxed);
        let task = self.task.lock().unwrap().take().unwrap();
        let wrong = task.await.unwrap();
        let count = self.created.load(Ordering::Relaxed);
        assert!(wrong.is_empty(), "{count} pods; {} wrong: {:?}", wrong.len(), wrong.first());
    }
}

async fn create(admin: &Client, namespace: &str) -> Result<Value, String> {
    let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    let mut pod = pod("probe");
    pod["metadata"]["labels"] = json!({"app": "web"});
    let reply = api::post(admin, &uri, &pod).await;
    if reply.status == StatusCode::CREATED { Ok(reply.body) } else { Err(reply.body.to_string()) }
}

fn is_injected(pod: &Value) -> bool {
    !pod["spec"]["initContainers"].is_null()
}
