//! Rules as Kubernetes objects, on a real API server by the real kubectl.

mod definitions;
mod drift;
mod installed;
mod many;
mod namespaced;
mod revisions;
mod status;

use serde_json::Value;
use vestibule_testenv::{Child, Environment, Options, Service, Session, Tools, start_or_skip, tools_or_skip};

use crate::cluster::{addresses, replica};
use crate::fixture::{Done, Folder, finish, with_kubectl};
use crate::wait;

/// A rule that labels pods.
const LABEL: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: label}
spec: {match: {objectSelector: {matchLabels: {app: web}}}, pod: {labels: {team: blue}}}
";

/// An API server with the manifests of an injector that has no rules in ConfigMaps.
pub(crate) struct Cluster {
    pub(crate) tools: Tools,
    pub(crate) environment: Session,
    pub(crate) home: String,
    service: Service,
    manifests: Vec<Value>,
}

impl Cluster {
    /// [`None`] where there is no API server or no kubectl; the test is skipped and says so.
    pub(crate) async fn start(options: &Options) -> Option<Self> {
        Self::start_with(options, "").await
    }

    /// The same, with flags of `manifests`.
    async fn start_with(options: &Options, flags: &str) -> Option<Self> {
        let tools = tools_or_skip().await?;
        let environment = start_or_skip(options).await?;
        let home = environment.namespace(&[]).await.unwrap().name().to_owned();
        let service = environment.service(&home, "injector").await.unwrap();
        let target = format!("{home}/injector:{}", service.port());
        let printed = Folder::with(&[]).run(&format!(
            "manifests --service {target} -n {home} --image registry.invalid/injector:test {flags}"
        ));
        let manifests = printed.objects();
        assert!(manifests.iter().all(|object| object["metadata"]["name"] != "injector-rules"));
        environment.apply(manifests.clone()).await.unwrap();
        Some(Self { tools, environment, home, service, manifests })
    }

    /// Starts a replica in a pod of this name, and returns when the API server may call it.
    pub(crate) async fn replica(&self, pod: &str) -> Child {
        let server = self.unready_replica(pod).await;
        let before = self.service.routed().len();
        let (address, probes) = addresses(&server).await;
        self.service.add_replica(address, Some(probes)).unwrap();
        self.service.wait_for_replicas(before + 1).await.unwrap();
        server
    }

    /// Starts a replica that the API server does not call.
    async fn unready_replica(&self, pod: &str) -> Child {
        let mut command = replica(&self.environment, &self.home, &self.manifests).await;
        command.env("POD_NAME", pod);
        self.environment.spawn("injector", &command).unwrap()
    }

    /// Runs a script with kubectl, where `rule.yaml` has this text.
    fn kubectl(&self, text: &str, script: &str) -> Done {
        kubectl(&self.environment, &self.tools, &Folder::with(&[("rule.yaml", text)]), script)
    }

    /// A field of `injection/label`, as soon as `wanted` holds for it.
    async fn until(&self, path: &str, wanted: impl Fn(&str) -> bool) -> String {
        let read = format!("kubectl get injection label -o jsonpath='{path}'");
        let found = wait::until(async || self.kubectl("", &read).out, |found| wanted(found)).await;
        found.unwrap_or_else(|found| {
            let all = self.kubectl("", "kubectl get injection -o yaml; kubectl get leases -A -o yaml").out;
            panic!("{found}: {all}")
        })
    }
}

/// Runs a script with kubectl in `folder`.
fn kubectl(environment: &Environment, tools: &Tools, folder: &Folder, script: &str) -> Done {
    finish(with_kubectl(environment, tools, script).current_dir(folder.path()), "")
}
