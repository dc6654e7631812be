//! `install` and `uninstall`: the manifests of an app, applied to a cluster and removed from it.
//!
//! `install` first asks the API server about every object with a dry run, so that missing rights are known before anything
//! is changed. Then it applies the objects, and waits until the API server calls the webhook. `api` sends the requests.

mod api;
mod remove;
mod wait;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;
use vestibule::{App, Target};
use vestibule_identity::refusal_message;
use vestibule_manifests::Installation;

use self::api::{answered, apply, get, installed_elsewhere, is_taken, missing_label};
pub use self::remove::UninstallArguments;
use self::wait::until_established;
use super::connection::KubeconfigArguments;
use super::duration::duration;
use super::{CommandError, image, namespace, say, title};

/// The namespace of an installation.
const NAMESPACE: &str = "vestibule-system";
/// The first version of Kubernetes whose webhook configurations have match conditions.
const OLDEST: u64 = 30;
/// The time between two requests about the state of an object.
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
    cluster: KubeconfigArguments,
}

impl InstallArguments {
    /// The namespace of the pods.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Applies the manifests of `app`, and waits until it is called. `image` is the image of the pods, unless a flag names another.
    /// `refused` is an object that only the webhook refuses: its refusal proves that the API server calls the webhook.
    /// `change` adjusts the installation.
    ///
    /// # Errors
    /// Objects are refused (exit code 1), the app is not in order (2), the cluster does not answer (3).
    pub async fn run(
        &self,
        app: &App,
        image: &str,
        refused: &Value,
        change: impl FnOnce(&mut Installation),
    ) -> Result<ExitCode, CommandError> {
        let objects = self.objects(app, image, change)?;
        let connection = self.cluster.connect().await?;
        let installed = self.install(connection.client(), app.name(), objects, refused).await;
        installed.map(|()| ExitCode::SUCCESS).map_err(|error| connection.advised(error))
    }

    async fn install(
        &self,
        client: &Client,
        name: &str,
        mut objects: Vec<Value>,
        refused: &Value,
    ) -> Result<(), CommandError> {
        check_version(client).await?;
        self.check_earlier(client, name, &objects).await?;
        self.keep_namespace_of_others(client, &mut objects).await?;
        self.check_by_dry_run(client, &objects).await?;
        if self.dry_run {
            return Ok(());
        }
        for object in &objects {
            if let Err(status) = apply(client, object, false).await? {
                return Err(CommandError::running(format_args!(
                    "{}: {}",
                    title(object),
                    refusal_message(&status)
                )));
            }
            if object["kind"] == "CustomResourceDefinition" {
                until_established(client, object).await?;
            }
            say(format_args!("applied  {}", title(object)));
        }
        if self.no_wait {
            return Ok(());
        }
        self.wait_until_called(client, name, refused).await?;
        say(format_args!("the API server calls {name} in namespace {}", self.namespace));
        Ok(())
    }

    /// Every object in the order in which it is applied: namespace and definitions first, configurations last.
    fn objects(
        &self,
        app: &App,
        image: &str,
        change: impl FnOnce(&mut Installation),
    ) -> Result<Vec<Value>, CommandError> {
        let target = Target::service(&format!("{}/{}", self.namespace, app.name()));
        let mut installation = Installation::of(app, target.map_err(CommandError::input)?);
        installation.image = Some(self.image.clone().unwrap_or_else(|| image.to_owned()));
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
        if let Some(other) = installed_elsewhere(client, name, &self.namespace).await? {
            return Err(CommandError::input(format_args!(
                "{name} is installed in namespace {other} already, and its configurations exist once in a cluster; `vestibule \
                 uninstall -n {other}` removes it, `--namespace {other}` upgrades it"
            )));
        }
        let Some(deployment) = objects.iter().find(|object| object["kind"] == "Deployment") else {
            return Ok(());
        };
        let earlier = get(client, deployment).await?;
        let image =
            |spec: &Value| spec["template"]["spec"]["containers"][0]["image"].as_str().map(str::to_owned);
        let before = earlier.ok().and_then(|earlier| image(&earlier.data["spec"]));
        if let (Some(before), Some(now)) = (before, image(&deployment["spec"])) {
            say(format_args!("upgrade  {before} -> {now}"));
        }
        Ok(())
    }

    /// Leaves out the Namespace if it exists and no installation has made it: its labels decide about pods of other programs too.
    async fn keep_namespace_of_others(
        &self,
        client: &Client,
        objects: &mut Vec<Value>,
    ) -> Result<(), CommandError> {
        let Some(namespace) = objects.iter().find(|object| object["kind"] == "Namespace") else {
            return Ok(());
        };
        if is_taken(client, namespace).await? {
            say(format_args!("kept     {}: it was there before, and its labels stay", title(namespace)));
            objects.retain(|object| object["kind"] != "Namespace");
        }
        Ok(())
    }

    /// Asks about every object before anything is changed.
    async fn check_by_dry_run(&self, client: &Client, objects: &[Value]) -> Result<(), CommandError> {
        let namespace = answered(Api::<Namespace>::all(client.clone()).get(&self.namespace)).await?;
        let is_new = namespace.is_err_and(|status| status.code == 404);
        let mut refusals = Vec::new();
        for object in objects {
            if is_taken(client, object).await? {
                refusals.push(format!(
                    "{}: it exists and is of another program: {}",
                    title(object),
                    missing_label(object)
                ));
                continue;
            }
            if is_new && object["metadata"]["namespace"] == self.namespace.as_str() {
                // An object in a namespace that does not exist cannot be tried; the right to make it can.
                // A server-side apply that creates an object needs both rights.
                for verb in ["create", "patch"] {
                    if !has_right(client, verb, object).await? {
                        refusals.push(format!("{}: no right to {verb} it", title(object)));
                    }
                }
                continue;
            }
            match apply(client, object, true).await? {
                // The API server accepts an apply to an object that is being deleted. The object is gone a moment later.
                Ok(found) if found.metadata.deletion_timestamp.is_some() => {
                    refusals
                        .push(format!("{}: it is being deleted; try again when it is gone", title(object)));
                }
                Ok(_) if self.dry_run => say(format_args!("taken    {}", title(object))),
                Ok(_) => {}
                Err(status) => refusals.push(format!("{}: {}", title(object), refusal_message(&status))),
            }
        }
        if is_new && self.dry_run {
            say(format_args!("new      namespace {} and what is in it", self.namespace));
        }
        match refusals.is_empty() {
            true => Ok(()),
            false => {
                Err(CommandError::running(format_args!("nothing was changed:\n  {}", refusals.join("\n  "))))
            }
        }
    }
}

async fn check_version(client: &Client) -> Result<(), CommandError> {
    // Without the right to read the version, the later requests name the missing rights.
    let Ok(version) = answered(client.apiserver_version()).await? else { return Ok(()) };
    // Some providers write `30+`.
    let minor = version.minor.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    match minor.parse::<u64>() {
        Ok(minor) if version.major == "1" && minor < OLDEST => Err(CommandError::input(format_args!(
            "the cluster runs Kubernetes {}; 1.{OLDEST} is the oldest version with all that is needed",
            version.git_version
        ))),
        _ => Ok(()),
    }
}

async fn has_right(client: &Client, verb: &str, object: &Value) -> Result<bool, CommandError> {
    let resource = api::resource(object);
    let attributes = ResourceAttributes {
        namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
        verb: Some(verb.to_owned()),
        group: Some(resource.group),
        resource: Some(resource.plural),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let review = answered(Api::all(client.clone()).create(&PostParams::default(), &review)).await?;
    Ok(review.is_ok_and(|review| review.status.is_some_and(|status| status.allowed)))
}
