//! The troubles: one for each alert. `alerts.rs` lists them.

mod aged;

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use fire::rig::Replica;
use http::Method;
use rustls_pki_types::UnixTime;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use vestibule_pki::Authority;
use vestibule_testenv::{Child, Clock};

use crate::api::{JSON, done, pod};
use crate::cluster::Cluster;
use crate::prometheus::Prometheus;

/// The jobs of the replicas in trouble, in the order in which they start.
pub(crate) const JOBS: [&str; 4] = ["powerless", "mounted", "aged", "skewed"];

/// A CA that ends before the seven days of the alert.
const FIVE_DAYS: u64 = 5 * 24 * 3600;
/// More than the five minutes of the alert.
const SKEW: i64 = 600;
/// The certificate is backdated by an hour, so the rest is less than a tenth.
const REST: Duration = Duration::from_secs(120);
/// More than the five repairs of the alert.
const OVERWRITES: usize = 8;

/// Troubles that last until it is dropped.
pub(crate) struct Background {
    _clients: JoinSet<()>,
    _caller: Child,
    _clock: Clock,
}

/// Makes all troubles.
pub(crate) async fn make(cluster: &mut Cluster, prometheus: &Prometheus) -> anyhow::Result<Background> {
    let mut clients = JoinSet::new();
    cluster.rotate("injector")?;
    deny_a_deployment(cluster).await?;
    let caller = call_unknown_path(cluster)?;
    clients.spawn(speak_http(cluster.injector.address));
    // In the order of `JOBS`.
    let powerless = powerless(cluster).await?;
    cluster.others.push(powerless);
    let mounted = mounted(cluster).await?;
    cluster.others.push(mounted);
    let aged = aged::start(cluster).await?;
    cluster.others.push(aged);
    let (clock, skewed) = skewed(cluster).await?;
    cluster.others.push(skewed);
    prometheus.scrape(cluster)?;
    delete_ring(cluster).await?;
    fail_open(cluster).await?;
    overwrite_bundle(cluster).await?;
    Ok(Background { _clients: clients, _caller: caller, _clock: clock })
}

/// A webhook whose account has no rights: it reads no objects and no ring.
async fn powerless(cluster: &Cluster) -> anyhow::Result<Replica> {
    let kubeconfig = cluster.environment.service_account_kubeconfig(&cluster.home, "powerless").await?;
    let names = names(cluster, "powerless");
    let arguments = ["--identity=self", &names[0], &names[1]];
    Replica::start(&cluster.environment, &cluster.program, &kubeconfig, &arguments).await
}

/// A webhook with a certificate that another tool should have renewed.
async fn mounted(cluster: &Cluster) -> anyhow::Result<Replica> {
    let folder = cluster.folder.join("mounted");
    fs::create_dir(&folder)?;
    let now = UnixTime::now();
    let authority = Authority::new("another tool", now, Duration::from_secs(FIVE_DAYS))?;
    let leaf = authority.issue(&["mounted.demo.svc"], now, REST)?;
    fs::write(folder.join("tls.crt"), leaf.chain_pem())?;
    fs::write(folder.join("tls.key"), leaf.key_pem().as_bytes())?;
    fs::write(folder.join("ca.crt"), authority.certificate_pem())?;
    let identity = format!("--identity=mounted:{}", folder.display());
    let kubeconfig = cluster.environment.kubeconfig();
    Replica::start(&cluster.environment, &cluster.program, &kubeconfig, &[&identity]).await
}

/// A webhook that sees the API server through a clock that is ahead.
async fn skewed(cluster: &Cluster) -> anyhow::Result<(Clock, Replica)> {
    let (clock, server) = cluster.environment.api_server().with_clock()?;
    clock.ahead_by(SKEW);
    let names = names(cluster, "skewed");
    let kubeconfig = server.kubeconfig()?;
    let aside = cluster.folder.join("skewed.kubeconfig");
    fs::copy(kubeconfig, &aside)?;
    let arguments = [
        "--identity=self",
        &names[0],
        &names[1],
        "--registration=mutating/aged",
        "--registration-mode=static",
    ];
    let replica = Replica::start(&cluster.environment, &cluster.program, &aside, &arguments).await?;
    Ok((clock, replica))
}

/// The flags for the Service of this name, which need not exist, and the namespace.
fn names(cluster: &Cluster, name: &str) -> [String; 2] {
    [format!("--service={}/{name}", cluster.home), format!("--namespace={}", cluster.home)]
}

async fn delete_ring(cluster: &Cluster) -> anyhow::Result<()> {
    let secret = format!("/api/v1/namespaces/{}/secrets/webhook-ring", cluster.home);
    done(&cluster.client, Method::DELETE, &secret, JSON, &Value::Null).await.map(drop)
}

/// The API server reaches no replica of the injector for six seconds, and stores rules that it would have refused.
async fn fail_open(cluster: &Cluster) -> anyhow::Result<()> {
    let (service, replica) = (&cluster.injector_service, &cluster.injector);
    service.remove_replica(replica.address);
    service.wait_for_replicas(0).await?;
    service.cut_connections();
    sleep(Duration::from_secs(6)).await;
    cluster.store_rules("broken", "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: broken}\nspec: {volume: []}\n").await?;
    service.add_replica(replica.address, Some(replica.probes))?;
    Ok(service.wait_for_replicas(1).await?)
}

/// A Deployment whose pods break a required rule: the controller's Events quote the denial.
async fn deny_a_deployment(cluster: &Cluster) -> anyhow::Result<()> {
    let mut template = pod("", &["data"]);
    let labels = template["metadata"]["labels"].clone();
    if let Some(template) = template.as_object_mut() {
        template.retain(|name, _| name == "spec");
    }
    template["metadata"] = json!({"labels": labels});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "denied", "namespace": cluster.target},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    });
    Ok(cluster.environment.apply([deployment]).await?)
}

/// Writes another bundle into the injector's configuration, again and again.
async fn overwrite_bundle(cluster: &Cluster) -> anyhow::Result<()> {
    let other = Authority::new("another", UnixTime::now(), Duration::from_secs(FIVE_DAYS))?;
    for _ in 0..OVERWRITES {
        patch_bundle(cluster, "injector", other.certificate_pem())?;
        sleep(Duration::from_secs(2)).await;
    }
    Ok(())
}

/// As a GitOps tool does, by kubectl.
fn patch_bundle(cluster: &Cluster, configuration: &str, bundle: &str) -> anyhow::Result<()> {
    let bundle = serde_json::to_value(k8s_openapi::ByteString(bundle.as_bytes().to_vec()))?;
    let patch = json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]);
    let mut kubectl = cluster.environment.command(&cluster.tools.kubectl);
    kubectl.args(["patch", "mutatingwebhookconfiguration", configuration, "--type=json"]);
    let done = kubectl.arg(format!("--patch={patch}")).output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// Sends requests to a path that no hook has, for ten minutes at most.
fn call_unknown_path(cluster: &Cluster) -> anyhow::Result<Child> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--insecure", "--output", "/dev/null", "--data", "{}", "--rate", "40/s"]);
    curl.arg(format!("https://{}/mutate/renamed?number=[1-24000]", cluster.webhook.address));
    Ok(cluster.environment.spawn("client", &curl)?)
}

/// Sends requests without TLS.
async fn speak_http(address: SocketAddr) {
    let mut ticks = interval(Duration::from_millis(500));
    loop {
        ticks.tick().await;
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: webhook\r\n\r\n").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
}
