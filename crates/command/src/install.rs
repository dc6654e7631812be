//! `install` and `uninstall`: the manifests of an app, applied to a cluster and removed from it.
//!
//! `install` first asks the API server about every object with a dry run, so that missing rights are known before anything
//! is changed. Then it applies the objects, and waits until the API server calls the webhook. `api` sends the requests.

mod api;
mod remove;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use kube::Client;
use serde_json::{Value, json};
use vestibule::{App, Target};
use vestibule_manifests::Installation;

use self::api::{Answer, apply, path, send};
pub use self::remove::UninstallArguments;
use super::connection::{Connection, ConnectionArguments};
use super::duration::duration;
use super::{CommandError, image, kubeconfig_help, namespace, say};

/// The namespace of an installation.
const NAMESPACE: &str = "vestibule-system";
/// The first version of Kubernetes whose webhook configurations have match conditions.
const OLDEST: u64 = 30;
/// The API server serves a new kind within a second or two.
const ESTABLISHED: Duration = Duration::from_secs(60);
/// The time between two questions whether the webhook is called.
const PAUSE: Duration = Duration::from_millis(500);

/// The place and the manner of an installation.
#[derive(Args, Clone, Debug)]
pub struct InstallArguments {
    /// The image of the pods.
    #[arg(long, env = "VESTIBULE_IMAGE", value_parser = image)]
    image: Option<String>,
    /// The namespace; it is made if it does not exist.
    #[arg(long, short, default_value = NAMESPACE, value_name = "NS", value_parser = namespace)]
    namespace: String,
    /// How many pods [default: 2]
    #[arg(long, value_name = "COUNT")]
    replicas: Option<u16>,
    /// Only asks the API server whether it would take every object; nothing is changed.
    #[arg(long)]
    dry_run: bool,
    /// Does not wait until the webhook is called.
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
    /// How long to wait until the webhook is called.
    #[arg(long, default_value = "3m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    cluster: WhichCluster,
}

#[derive(Args, Clone, Debug)]
struct WhichCluster {
    #[arg(long, env = "VESTIBULE_KUBECONFIG", value_name = "FILE", help = kubeconfig_help())]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context, where it is not the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// The facts that an app gives to `install`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The image, unless a flag names one.
    pub image: String,
    /// An object that only the webhook refuses: its refusal proves that the API server calls the webhook.
    pub refused: Value,
}

impl Plan {
    /// A plan of these parts.
    pub fn new(image: impl Into<String>, refused: Value) -> Self {
        Self { image: image.into(), refused }
    }
}

impl WhichCluster {
    async fn connect(&self, namespace: &str) -> Result<Connection, CommandError> {
        ConnectionArguments {
            namespace: Some(namespace.to_owned()),
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
        .connect()
        .await
    }
}

impl InstallArguments {
    /// The namespace of the pods.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Applies the manifests of `app`, and waits until it is called. `change` adjusts the installation.
    ///
    /// # Errors
    /// Objects are refused (exit code 1), the app is not in order (2), the cluster does not answer (3).
    pub async fn run(
        &self,
        app: &App,
        plan: Plan,
        change: impl FnOnce(&mut Installation),
    ) -> Result<ExitCode, CommandError> {
        let objects = self.objects(app, &plan, change)?;
        let connection = self.cluster.connect(&self.namespace).await?;
        let client = &connection.client;
        check_version(&connection).await?;
        self.check_earlier(client, app.name(), &objects).await?;
        self.rehearse(client, &objects).await?;
        if self.dry_run {
            return Ok(ExitCode::SUCCESS);
        }
        for object in &objects {
            let answer = apply(client, object, false).await?;
            answer.object().map_err(|why| CommandError::running(format_args!("{}: {why}", title(object))))?;
            if object["kind"] == "CustomResourceDefinition" {
                until_established(client, object).await?;
            }
            say(format_args!("applied  {}", title(object)));
        }
        if self.no_wait {
            return Ok(ExitCode::SUCCESS);
        }
        self.wait_until_called(client, app.name(), &plan.refused).await?;
        say(format_args!("the API server calls {} in namespace {}", app.name(), self.namespace));
        Ok(ExitCode::SUCCESS)
    }

    /// Every object in the order in which it is applied: namespace and definitions first, configurations last.
    fn objects(
        &self,
        app: &App,
        plan: &Plan,
        change: impl FnOnce(&mut Installation),
    ) -> Result<Vec<Value>, CommandError> {
        let target = Target::service(&format!("{}/{}", self.namespace, app.name()));
        let mut installation = Installation::of(app, target.map_err(CommandError::input)?);
        installation.image = Some(self.image.clone().unwrap_or_else(|| plan.image.clone()));
        installation.replicas = self.replicas.unwrap_or(installation.replicas);
        change(&mut installation);
        let mut objects = vec![installation.namespace_object().map_err(CommandError::input)?];
        objects.extend(installation.manifests(app).map_err(CommandError::input)?);
        Ok(objects)
    }

    /// Names an earlier installation: in this namespace it is upgraded, in another one it is in the way.
    async fn check_earlier(
        &self,
        client: &Client,
        name: &str,
        objects: &[Value],
    ) -> Result<(), CommandError> {
        let binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        let found = send(client, "GET", &format!("{binding}/{name}"), None).await?;
        let elsewhere =
            found.body["subjects"][0]["namespace"].as_str().filter(|there| *there != self.namespace);
        if let (200, Some(there)) = (found.status, elsewhere) {
            return Err(CommandError::input(format_args!(
                "{name} is installed in namespace {there} already, and its configurations exist once in a cluster; `vestibule \
                 uninstall -n {there}` removes it, `--namespace {there}` upgrades it"
            )));
        }
        let Some(deployment) = objects.iter().find(|object| object["kind"] == "Deployment") else {
            return Ok(());
        };
        let earlier = send(client, "GET", &path(deployment), None).await?;
        let image = |deployment: &Value| {
            deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().map(str::to_owned)
        };
        if let (200, Some(before), Some(now)) = (earlier.status, image(&earlier.body), image(deployment)) {
            say(format_args!("upgrade  {before} -> {now}"));
        }
        Ok(())
    }

    /// Asks about every object before anything is changed.
    async fn rehearse(&self, client: &Client, objects: &[Value]) -> Result<(), CommandError> {
        let home = send(client, "GET", &format!("/api/v1/namespaces/{}", self.namespace), None).await?;
        let mut refusals = Vec::new();
        for object in objects {
            let waits = home.status == 404 && object["metadata"]["namespace"] == self.namespace.as_str();
            if waits {
                // An object in a namespace that does not exist cannot be tried; the right to make it can.
                if !may_create(client, object).await? {
                    refusals.push(format!("{}: no right to create it", title(object)));
                }
                continue;
            }
            match apply(client, object, true).await?.object() {
                Ok(_) if self.dry_run => say(format_args!("taken    {}", title(object))),
                Ok(_) => {}
                Err(why) => refusals.push(format!("{}: {why}", title(object))),
            }
        }
        if home.status == 404 && self.dry_run {
            say(format_args!("new      namespace {} and what is in it", self.namespace));
        }
        match refusals.is_empty() {
            true => Ok(()),
            false => Err(CommandError::running(format_args!(
                "nothing was changed, because the API server would refuse:\n  {}",
                refusals.join("\n  ")
            ))),
        }
    }

    async fn wait_until_called(
        &self,
        client: &Client,
        name: &str,
        refused: &Value,
    ) -> Result<(), CommandError> {
        let end = Instant::now() + self.timeout;
        let mut said = String::new();
        loop {
            let uri = format!("{}?dryRun=All", api::collection(refused));
            let answer = send(client, "POST", &uri, Some(refused)).await?;
            if answer.status == 403 && answer.message().contains("denied the request") {
                return Ok(());
            }
            let state = self.state(client, name).await?;
            if state != said {
                say(format_args!("waiting  {state}"));
                said = state;
            }
            if Instant::now() >= end {
                return Err(CommandError::running(format_args!(
                    "the API server does not call {name} after {:#}: {said}. What is installed stays; `kubectl describe pods -n {}` \
                     and `kubectl logs -n {} deployment/{name}` say more",
                    jiff::SignedDuration::try_from(self.timeout).unwrap_or_default(),
                    self.namespace,
                    self.namespace
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The missing parts, in words.
    async fn state(&self, client: &Client, name: &str) -> Result<String, CommandError> {
        let uri = format!("/apis/apps/v1/namespaces/{}/deployments/{name}", self.namespace);
        let deployment = send(client, "GET", &uri, None).await?.body;
        let count = |field: &str| deployment["status"][field].as_u64().unwrap_or_default();
        let pods =
            format!("{} of {} pods available", count("availableReplicas"), deployment["spec"]["replicas"]);
        let uri = format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}");
        let registered = send(client, "GET", &uri, None).await?.body;
        let has_bundle = registered["webhooks"][0]["clientConfig"]["caBundle"].is_string();
        Ok(match has_bundle {
            true => format!("{pods}; registered"),
            false => format!("{pods}; no replica has registered itself"),
        })
    }
}

/// Waits until the API server takes objects of this kind.
async fn until_established(client: &Client, definition: &Value) -> Result<(), CommandError> {
    let end = Instant::now() + ESTABLISHED;
    loop {
        let found = send(client, "GET", &path(definition), None).await?.body;
        let conditions = found["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        if conditions
            .iter()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
        {
            return Ok(());
        }
        if Instant::now() >= end {
            let what = title(definition);
            return Err(CommandError::running(format_args!(
                "{what} is not established: {}",
                found["status"]
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn check_version(connection: &Connection) -> Result<(), CommandError> {
    let answer = send(&connection.client, "GET", "/version", None).await;
    let version = answer.map_err(|error| connection.unreachable(error))?.body;
    // Some providers write `30+`.
    let minor = version["minor"]
        .as_str()
        .unwrap_or_default()
        .trim_end_matches(|letter: char| !letter.is_ascii_digit());
    match minor.parse::<u64>() {
        Ok(minor) if version["major"] == "1" && minor < OLDEST => Err(CommandError::input(format_args!(
            "the cluster runs Kubernetes {}; 1.{OLDEST} is the oldest version with all that is needed",
            version["gitVersion"].as_str().unwrap_or_default()
        ))),
        _ => Ok(()),
    }
}

async fn may_create(client: &Client, object: &Value) -> Result<bool, CommandError> {
    let (group, resource) = api::resource(object);
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": object["metadata"]["namespace"], "verb": "create", "group": group, "resource": resource,
        }},
    });
    let uri = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let Answer { body, .. } = send(client, "POST", uri, Some(&review)).await?;
    Ok(body["status"]["allowed"] == true)
}

/// `Deployment shop/injector`.
fn title(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let kind = object["kind"].as_str().unwrap_or_default();
    match text("namespace") {
        namespace if namespace.is_empty() => format!("{kind} {}", text("name")),
        namespace => format!("{kind} {namespace}/{}", text("name")),
    }
}
