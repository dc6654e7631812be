//! The API server with an installed injector and an installed webhook.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use fire::rig::{Installed, Replica, beside, get, send};
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::{Child, Environment, Options, Service, Tools, until};

use crate::api::{JSON, MERGE, config_map, done, pod};
use crate::pods::stand_for;

const PATIENCE: Duration = Duration::from_secs(60);

/// Rules for pods with the label `app: web`: a pod with another volume `cache` is left alone by the second, and a pod with another
/// volume `data` is denied by the third.
const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: target}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  containerPatches: [{select: {all: true}, env: [{name: TARGET, value: VALUE}]}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: cache}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: cache, emptyDir: {}, onConflict: skipRule}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: data}
spec:
  required: true
  match: {namespaceSelector: {matchLabels: {watching: target}}, objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
";

/// Everything that runs.
pub(crate) struct Cluster {
    /// The injector's replica.
    pub(crate) injector: Replica,
    /// The webhook's replica.
    pub(crate) webhook: Replica,
    /// The injector's Service.
    pub(crate) injector_service: Service,
    /// Replicas in trouble.
    pub(crate) others: Vec<Replica>,
    /// The namespace of the injector and the webhook.
    pub(crate) home: String,
    /// The namespace whose pods are injected.
    pub(crate) target: String,
    /// A client with all rights.
    pub(crate) client: Client,
    /// kubectl.
    pub(crate) tools: Tools,
    /// The folder in which commands of pages run.
    pub(crate) folder: PathBuf,
    /// The program `vestibule`.
    pub(crate) vestibule: PathBuf,
    /// This program.
    pub(crate) program: PathBuf,
    _webhook_service: Service,
    _kubelets: [Child; 2],
    // Last: the processes above end first.
    pub(crate) environment: Environment,
}

impl Cluster {
    /// Starts the API server, installs both, and returns when they are called.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let tools = tokio::task::spawn_blocking(Tools::find).await??;
        let (vestibule, program) = (beside("vestibule")?, std::env::current_exe()?);
        let environment =
            Environment::start_with(&Options::default().controller_manager().shows_credentials()).await?;
        let client = environment.admin()?;
        let home = environment.namespace(&[]).await?.name().to_owned();
        let target = environment.namespace(&[("watching", "target")]).await?.name().to_owned();
        let folder = environment.folder().join("typed");
        fs::create_dir(&folder)?;
        fs::write(folder.join("rules.yaml"), rules("hall"))?;

        let rules = folder.join("rules.yaml").display().to_string();
        let flags = ["--rules", &rules, "--lagging-pods=2s"];
        let (injector_service, injector) =
            install(&environment, &vestibule, &home, "injector", &flags, &["--lagging-pods=2s"]).await?;
        let authority = format!("--client-ca={}", environment.client_authority().display());
        let flags = [
            "--max-running=6",
            "--max-waiting=4",
            "--hold=10s",
            "--client-auth=observe",
            &authority,
            "--any-client",
        ];
        let (webhook_service, webhook) =
            install(&environment, &program, &home, "webhook", &[], &flags).await?;
        let kubelets = [
            stand_for(&injector, &environment, &tools, &home, "injector").await?,
            stand_for(&webhook, &environment, &tools, &home, "webhook").await?,
        ];
        let cluster = Self {
            injector,
            webhook,
            injector_service,
            others: Vec::new(),
            home,
            target,
            client,
            tools,
            folder,
            vestibule,
            program,
            _webhook_service: webhook_service,
            _kubelets: kubelets,
            environment,
        };
        cluster.wait_until_called().await?;
        Ok(cluster)
    }

    /// Both hooks are called as soon as the API server knows their entries.
    async fn wait_until_called(&self) -> anyhow::Result<()> {
        let injected = async || {
            let made = self.create("pods", &pod("probe", &[])).await;
            made.is_ok_and(|(_, made)| !made["spec"]["containers"][0]["env"].is_null())
        };
        until("a pod being injected", PATIENCE, injected).await?;
        let denied = async || {
            let made = self.create("configmaps", &config_map("probe", "check", "deny")).await;
            made.is_ok_and(|(status, _)| status.as_u16() == 403)
        };
        until("a ConfigMap being denied", PATIENCE, denied).await?;
        // Running pods with today's version of the rules, which lag after a change.
        for number in 0..3 {
            let pods = format!("/api/v1/namespaces/{}/pods", self.target);
            let name = format!("web-{number}");
            done(&self.client, Method::POST, &pods, JSON, &pod(&name, &[])).await?;
            let running = json!({"status": {"phase": "Running"}});
            done(&self.client, Method::PATCH, &format!("{pods}/{name}/status"), MERGE, &running).await?;
        }
        Ok(())
    }

    /// Creates an object of the target namespace by dry run.
    pub(crate) async fn create(
        &self,
        plural: &str,
        object: &Value,
    ) -> anyhow::Result<(http::StatusCode, Value)> {
        let uri = format!("/api/v1/namespaces/{}/{plural}?dryRun=All", self.target);
        send(&self.client, Method::POST, &uri, JSON, object).await
    }

    /// Stores another version of the rules, and waits until it is in force.
    pub(crate) async fn change_rule(&self) -> anyhow::Result<()> {
        fs::write(self.folder.join("rules.yaml"), rules("house"))?;
        self.store_rules("injector-rules", &rules("house")).await?;
        let changed = async || {
            let made = self.create("pods", &pod("probe", &[])).await;
            made.is_ok_and(|(_, made)| made["spec"]["containers"][0]["env"][0]["value"] == "house")
        };
        until("the changed rule being in force", PATIENCE, changed).await?;
        Ok(())
    }

    /// Stores rules in a ConfigMap of the injector, which may exist.
    pub(crate) async fn store_rules(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let labels = json!({"vestibule.dev/config": "true"});
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"rules.yaml": text},
            "metadata": {"name": name, "namespace": self.home, "labels": labels},
        });
        Ok(self.environment.apply([object]).await?)
    }

    /// Asks a ring for a new CA. The webhook's takes over in ten seconds, the injector's is held for a day.
    pub(crate) fn rotate(&self, name: &str) -> anyhow::Result<()> {
        let mut command = self.environment.command(&self.vestibule);
        command.args(["certs", "rotate", "--yes", &format!("--service={}/{name}", self.home)]);
        let asked = command.output()?;
        ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        Ok(())
    }

    /// The scraped replicas, by the name of their job.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (&'static str, &Replica)> {
        // In the order in which `troubles.rs` starts them.
        let others = crate::troubles::JOBS.into_iter().zip(&self.others);
        [("injector", &self.injector), ("webhook", &self.webhook)].into_iter().chain(others)
    }
}

fn rules(value: &str) -> String {
    RULES.replace("VALUE", value)
}

/// Installs a webhook, and starts one replica behind its Service.
async fn install(
    environment: &Environment,
    program: &Path,
    home: &str,
    name: &str,
    printed: &[&str],
    flags: &[&str],
) -> anyhow::Result<(Service, Replica)> {
    let installed = Installed::new(environment, program, (home, name), printed).await?;
    let namespace = format!("--namespace={home}");
    let replica = installed.start_replica(&[&[namespace.as_str()], flags].concat()).await?;
    if let Err(error) = installed.service.wait_for_replicas(1).await {
        let why = get(replica.probes, "/readyz?verbose").await?;
        return Err(anyhow::Error::from(error).context(format!("{why}\n{}", replica.process.log())));
    }
    Ok((installed.service, replica))
}
