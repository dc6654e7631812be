//! The chart of the first release, `tests/charts`, and its upgrade to the present chart while pods are created. The release is not
//! made yet: until then the archive has the chart of the day on which this test was written.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use vestibule_testenv::{Child, Service};

use super::fixture::{Cluster, serve_as};
use super::{NAMESPACE, folder};
use crate::fixture::{Done, Folder};
use crate::skew::Load;

const FIRST_RELEASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/charts/vestibule-0.1.0.tgz");

/// A column of the definitions. The first release is installed without it, so that the upgrade has something to change also while no
/// later release exists.
const LATER_COLUMN: &str = "    - jsonPath: .status.lagging\n      name: Lagging\n      type: integer\n";

const RULE: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: NAME}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  sidecars: [{name: NAME, image: busybox, startupProbe: {exec: {command: ['true']}}, resources: {requests: {cpu: 1m, memory: 1Mi}}}]
";

/// `helm` of one version, with `vestibule` in its release.
struct Release<'c> {
    cluster: &'c Cluster,
    helm: &'c Path,
    service: Service,
}

impl Release<'_> {
    fn helm(&self, arguments: &str) -> Done {
        self.cluster.run(&format!("{} {arguments} --namespace {NAMESPACE}", self.helm.display()))
    }

    /// A replica with the arguments and the rights that the release has now. It gets calls when this returns.
    async fn replica(&self, name: &str, count: usize) -> (Child, SocketAddr) {
        let objects = self.helm("get manifest vestibule").objects();
        let (server, address) = serve_as(name, self.cluster, &self.service, objects).await;
        let ready = self.service.wait_for_replicas(count).await;
        ready.unwrap_or_else(|error| panic!("{error}: {}", server.log()));
        (server, address)
    }

    /// The columns and the schema of each definition that the API server has.
    async fn definitions(&self) -> Vec<(Value, Value)> {
        let list = self.cluster.read("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").await;
        columns_and_schemas(list["items"].as_array().unwrap())
    }

    async fn webhooks(&self) -> [Value; 2] {
        let mut found = [Value::Null, Value::Null];
        for (kind, webhooks) in ["mutating", "validating"].iter().zip(&mut found) {
            let uri = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/injector");
            *webhooks = self.cluster.read(&uri).await["webhooks"].clone();
        }
        found
    }

    /// Applies a rule, and returns when all replicas have it in force.
    fn add_rule(&self, name: &str) {
        let files = Folder::with(&[("rule.yaml", &RULE.replace("NAME", name))]);
        let file = files.path().join("rule.yaml");
        self.cluster
            .run(&format!(
                "kubectl apply -f {} && kubectl wait --for=condition=InForce --timeout=120s injection/{name}",
                file.display()
            ))
            .exits(0);
    }
}

fn columns_and_schemas(definitions: &[Value]) -> Vec<(Value, Value)> {
    let mut found: Vec<_> = definitions
        .iter()
        .filter(|object| object["kind"] == "CustomResourceDefinition" || object.get("kind").is_none())
        .map(|definition| {
            let version = &definition["spec"]["versions"][0];
            let columns = json!([definition["metadata"]["name"], version["additionalPrinterColumns"]]);
            (columns, version["schema"].clone())
        })
        .collect();
    found.sort_by_key(|(columns, _)| columns.to_string());
    found
}

/// The chart of the first release in a folder, with older definitions.
fn first_release() -> Folder {
    let unpacked = Folder::with(&[]);
    let mut tar = std::process::Command::new("tar");
    tar.args(["-xzf", FIRST_RELEASE, "-C"]).arg(unpacked.path());
    crate::fixture::finish(&mut tar, "").exits(0);
    let file = unpacked.path().join("vestibule/templates/definitions.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches(LATER_COLUMN).count(), 2, "the two definitions of rules");
    fs::write(file, text.replace(LATER_COLUMN, "")).unwrap();
    unpacked
}

/// The drain of the replaced replica takes 95 s and does not depend on helm, so one test waits for its end.
async fn the_upgrade_fails_no_create(cluster: &Cluster, helm: &Path, waits_for_the_drain: bool) {
    let service = cluster.service().await;
    let shop = cluster.environment.namespace(&[]).await.unwrap().name().to_owned();
    let release = Release { cluster, helm, service };

    let first = first_release();
    let chart = first.path().join("vestibule");
    // The Service exists already.
    release.helm(&format!("install vestibule {} --take-ownership", chart.display())).exits(0);
    let (old, address) = release.replica("old", 1).await;
    release.add_rule("kept");
    let rule = "/apis/vestibule.dev/v1alpha1/injections/kept";
    let kept = cluster.read(rule).await;
    let (older, webhooks) = (release.definitions().await, release.webhooks().await);

    let load = Load::default();
    load.begin(&cluster.environment.admin().unwrap(), &shop).await;
    let present = folder().join("helm/vestibule");
    release.helm(&format!("upgrade vestibule {}", present.display())).exits(0);
    assert_eq!(release.webhooks().await, webhooks, "entries and bundles are those of the replicas");
    let (new, _) = release.replica("new", 2).await;
    release.add_rule("later");
    release.service.remove_replica(address);
    old.terminate().unwrap();
    if waits_for_the_drain {
        assert_eq!(old.wait().await.unwrap(), 0, "{}", old.log());
    }
    load.end().await;
    assert!(new.exited().is_none(), "{}", new.log());

    let now = release.definitions().await;
    assert_eq!(now, columns_and_schemas(&release.helm("get manifest vestibule").objects()));
    assert_eq!((now.len(), older.len()), (3, 3));
    assert!(now != older, "the definitions are upgraded");
    let found = cluster.read(rule).await;
    assert_eq!((&found["metadata"]["uid"], &found["spec"]), (&kept["metadata"]["uid"], &kept["spec"]));
    assert_eq!(found["metadata"]["generation"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_3_upgrades_the_first_release_without_a_failed_create() {
    let Some(cluster) = Cluster::start().await else { return };
    the_upgrade_fails_no_create(&cluster, &cluster.tools.helm3, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_4_upgrades_the_first_release_without_a_failed_create() {
    let Some(cluster) = Cluster::start().await else { return };
    the_upgrade_fails_no_create(&cluster, &cluster.tools.helm4, true).await;
}

/// A Job of a hook could fail, or wait for a pod that the cluster cannot start, and then hold an upgrade or a removal.
#[test]
fn the_only_hook_of_the_chart_is_its_test() {
    let mut hooks = Vec::new();
    let mut folders = vec![folder().join("helm/vestibule/templates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            assert!(!text.contains("kind: Job"), "{:?}", entry.path());
            hooks.extend(
                text.lines()
                    .filter(|line| line.contains("helm.sh/hook\"") || line.contains("helm.sh/hook:"))
                    .map(|line| line.trim().to_owned()),
            );
        }
    }
    assert_eq!(hooks, ["helm.sh/hook: test"]);
    // Helm never upgrades the definitions of this folder.
    assert!(!folder().join("helm/vestibule/crds").exists());
}
