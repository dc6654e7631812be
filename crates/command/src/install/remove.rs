//! `uninstall`: removes what `install` applied, and what the replicas wrote.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::core::Status;
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule::{App, Target};
use vestibule_identity::refusal_message;
use vestibule_manifests::Installation;

use super::api::{Answer, answered, api, installed_elsewhere, is_foreign, missing_label};
use super::{NAMESPACE, PAUSE, title};
use crate::connection::KubeconfigArguments;
use crate::{CommandError, namespace, say};

/// A deletion is over in a moment, except for the definitions of many rules.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The objects to remove.
#[derive(Args, Clone, Debug)]
pub struct UninstallArguments {
    /// The namespace of the installation.
    #[arg(long, short, default_value = NAMESPACE, value_name = "NS", value_parser = namespace)]
    namespace: String,
    /// Also deletes the definitions with all their objects, which are the rules, and the namespace with all that is in it, unless
    /// it was there before the installation.
    #[arg(long)]
    all: bool,
    /// Only says what would be deleted.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: KubeconfigArguments,
}

impl UninstallArguments {
    /// Deletes the objects of `app`. `written` are objects that its replicas make; one without a name stands for all objects
    /// of its kind that have its labels.
    ///
    /// Configurations go first: from then on the API server calls nothing that is being deleted. Roles go before the objects
    /// that replicas write, which replicas that still drain then cannot make again.
    ///
    /// # Errors
    /// A deletion is refused (exit code 1), the cluster does not answer (3).
    pub async fn run(
        &self,
        app: &App,
        written: Vec<Value>,
        change: impl FnOnce(&mut Installation),
    ) -> Result<ExitCode, CommandError> {
        let target =
            Target::service(&format!("{}/{}", self.namespace, app.name())).map_err(CommandError::input)?;
        let mut installation = Installation::of(app, target);
        // Any image: it only decides whether the pods are among the objects.
        installation.image.get_or_insert_with(|| "none".to_owned());
        change(&mut installation);
        let namespace = installation.namespace_object().map_err(CommandError::input)?;
        let mut objects = installation.manifests(app).map_err(CommandError::input)?;
        objects.extend(written.into_iter().map(|mut object| {
            object["metadata"]["namespace"] = json!(self.namespace);
            object
        }));
        objects.push(namespace);
        objects.retain(|object| self.all || !needs_all(object));
        objects.sort_by_key(order);
        let connection = self.cluster.connect().await?;
        let removed = self.remove(connection.client(), app.name(), objects).await;
        removed.map(|()| ExitCode::SUCCESS).map_err(|error| connection.advised(error))
    }

    async fn remove(&self, client: &Client, name: &str, objects: Vec<Value>) -> Result<(), CommandError> {
        if let Some(other) = installed_elsewhere(client, name, &self.namespace).await? {
            // Roles and configurations are objects of the cluster: without them the installation there would fail.
            return Err(CommandError::input(format_args!(
                "{name} is installed in namespace {other}, not in {}: `vestibule uninstall -n {other}` removes it",
                self.namespace
            )));
        }
        let found = self.deletable(client, &objects).await?;
        // The webhook configurations are first in the list. If one stays, so does the Deployment whose pods the API server calls.
        for object in found.iter().filter(|_| !self.dry_run) {
            remove(client, object).await?;
        }
        match (found.len(), self.all) {
            (0, _) => say(format_args!("nothing is installed in namespace {}", self.namespace)),
            (_, false) if !self.dry_run => say(format_args!(
                "rules, their definitions and namespace {} are still there; --all deletes them too",
                self.namespace
            )),
            _ => {}
        }
        Ok(())
    }

    /// The objects that exist, without those of other programs. The API server is asked about the deletion of each, so that nothing is
    /// deleted if a right is missing.
    async fn deletable<'o>(
        &self,
        client: &Client,
        objects: &'o [Value],
    ) -> Result<Vec<&'o Value>, CommandError> {
        let (mut found, mut refusals) = (Vec::new(), Vec::new());
        for object in objects {
            if !exists(client, object).await? {
                continue;
            }
            match delete(client, object, true).await? {
                Err(status) if is_missing_right(&status) => {
                    refusals.push(format!("{}: {}", title(object), refusal_message(&status)));
                }
                _ => {
                    if self.dry_run {
                        say(format_args!("would delete  {}", title(object)));
                    }
                    found.push(object);
                }
            }
        }
        if !refusals.is_empty() {
            let refusals = refusals.join("\n  ");
            return Err(CommandError::running(format_args!("nothing was deleted:\n  {refusals}")));
        }
        Ok(found)
    }
}

/// Whether the object exists and is none of another program. Without the right to read it, its deletion is tried.
async fn exists(client: &Client, object: &Value) -> Result<bool, CommandError> {
    let objects = api(client, object);
    let exists = match object["metadata"]["name"].as_str() {
        Some(name) => match answered(objects.get(name)).await? {
            Ok(found) if is_foreign(&found, object) => {
                say(format_args!("kept     {}: {}", title(object), missing_label(object)));
                return Ok(false);
            }
            found => found.map(|_| true),
        },
        None => answered(objects.list(&selected(object))).await?.map(|found| !found.items.is_empty()),
    };
    Ok(exists.unwrap_or_else(|status| status.code != 404))
}

async fn delete(client: &Client, object: &Value, dry_run: bool) -> Result<Answer<()>, CommandError> {
    let objects = api(client, object);
    // Owned ReplicaSets and pods go too, without a wait for them.
    let parameters = DeleteParams { dry_run, ..DeleteParams::background() };
    Ok(match object["metadata"]["name"].as_str() {
        Some(name) => answered(objects.delete(name, &parameters)).await?.map(drop),
        None => answered(objects.delete_collection(&parameters, &selected(object))).await?.map(drop),
    })
}

fn selected(object: &Value) -> ListParams {
    ListParams::default().labels(&label_selector(object))
}

/// Deletes an object, and waits until a definition is gone.
async fn remove(client: &Client, object: &Value) -> Result<(), CommandError> {
    let what = title(object);
    if let Err(status) = delete(client, object, false).await?
        && status.code != 404
    {
        let message = refusal_message(&status);
        return Err(CommandError::running(format_args!(
            "not all was deleted, try again:\n  {what}: {message}"
        )));
    }
    if let Some(name) = object["metadata"]["name"].as_str()
        && object["kind"] == "CustomResourceDefinition"
    {
        until_gone(&api(client, object), name, &what).await?;
    }
    say(format_args!("deleted  {what}"));
    Ok(())
}

/// Other refusals of a dry run are no reason to stop: a webhook may support none, or may be a hook that is deleted before this object.
fn is_missing_right(status: &Status) -> bool {
    status.code == 403 && !status.message.starts_with("admission webhook ")
}

/// The namespace is not waited for: pods may drain in it for two minutes.
async fn until_gone(objects: &Api<DynamicObject>, name: &str, what: &str) -> Result<(), CommandError> {
    let end = Instant::now() + TIMEOUT;
    while !answered(objects.get(name)).await?.is_err_and(|status| status.code == 404) {
        if Instant::now() >= end {
            return Err(CommandError::running(format_args!(
                "{what} is not gone after a minute; `kubectl get` shows which finalizer it waits for"
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

fn label_selector(object: &Value) -> String {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let pairs = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(",")
}

/// Whether `object` is deleted with `--all` only.
fn needs_all(object: &Value) -> bool {
    ["CustomResourceDefinition", "Namespace"].iter().any(|kind| object["kind"] == *kind)
}

/// The order of deletion.
fn order(object: &Value) -> u8 {
    match object["kind"].as_str().unwrap_or_default() {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => 0,
        "Deployment" => 1,
        "RoleBinding" | "ClusterRoleBinding" => 2,
        "Role" | "ClusterRole" => 3,
        "CustomResourceDefinition" => 5,
        "Namespace" => 6,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_deleted_first() {
        let of = |kind: &str| order(&json!({"kind": kind}));
        let kinds =
            ["ValidatingWebhookConfiguration", "Deployment", "RoleBinding", "Role", "Secret", "Namespace"];
        assert!(kinds.is_sorted_by_key(|kind| of(kind)));
        assert!(of("Service") > of("MutatingWebhookConfiguration"));
    }

    /// Regression: a webhook that denies the deletion of an object of its own installation could not be uninstalled.
    #[test]
    fn a_webhook_that_denies_does_not_stop_its_own_deletion() {
        let is_missing = |message| is_missing_right(&Status::failure(message, "Forbidden").with_code(403));
        assert!(is_missing("services \"injector\" is forbidden: User \"half\" cannot delete resource"));
        assert!(!is_missing("admission webhook \"keep.example.com\" denied the request: kept"));
    }

    #[test]
    fn objects_without_a_name_are_selected_by_label() {
        let leases = json!({"metadata": {"labels": {"team": "shop", "vestibule.dev/replica": "true"}}});
        assert_eq!(label_selector(&leases), "team=shop,vestibule.dev/replica=true");
    }
}
