//! `uninstall`: removes what `install` applied, and what the replicas wrote.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use kube::Client;
use serde_json::{Value, json};
use vestibule::{App, Target};
use vestibule_manifests::Installation;

use super::api::{collection, path, send};
use super::{NAMESPACE, PAUSE, WhichCluster, title};
use crate::{CommandError, namespace, say};

/// A deletion is over in a moment, except for the definitions of many rules.
const PATIENCE: Duration = Duration::from_secs(60);

/// The objects to remove.
#[derive(Args, Clone, Debug)]
pub struct UninstallArguments {
    /// The namespace of the installation.
    #[arg(long, short, default_value = NAMESPACE, value_name = "NS", value_parser = namespace)]
    namespace: String,
    /// Also deletes the definitions with all their objects, which are the rules, and the namespace with all that is in it.
    #[arg(long)]
    all: bool,
    /// Only says what would be deleted.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: WhichCluster,
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
        objects.retain(|object| self.all || !is_kept(object));
        objects.sort_by_key(order);
        let client = self.cluster.connect(&self.namespace).await?.client;
        let mut found = 0;
        for object in &objects {
            found += usize::from(self.delete(&client, object).await?);
        }
        match (found, self.all) {
            (0, _) => say(format_args!("nothing is installed in namespace {}", self.namespace)),
            (_, false) if !self.dry_run => say(format_args!(
                "rules, their definitions and namespace {} are still there; --all deletes them too",
                self.namespace
            )),
            _ => {}
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Deletes an object. Whether it was there.
    async fn delete(&self, client: &Client, object: &Value) -> Result<bool, CommandError> {
        let by_label = object["metadata"].get("name").is_none();
        let uri = if by_label { selected(object) } else { path(object) };
        let found = send(client, "GET", &uri, None).await?;
        let is_empty = found.body["items"].as_array().is_some_and(Vec::is_empty);
        if found.status == 404 || is_empty {
            return Ok(false);
        }
        let what = title(object);
        if self.dry_run {
            say(format_args!("would delete  {what}"));
            return Ok(true);
        }
        // Owned ReplicaSets and pods go too, without a wait for them.
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let answer = send(client, "DELETE", &uri, Some(&options)).await?;
        if !(200..300).contains(&answer.status) && answer.status != 404 {
            return Err(CommandError::running(format_args!("{what}: {}", answer.message())));
        }
        if object["kind"] == "CustomResourceDefinition" {
            until_gone(client, &uri, &what).await?;
        }
        say(format_args!("deleted  {what}"));
        Ok(true)
    }
}

/// The namespace is not waited for: pods may drain in it for two minutes.
async fn until_gone(client: &Client, uri: &str, what: &str) -> Result<(), CommandError> {
    let end = Instant::now() + PATIENCE;
    while send(client, "GET", uri, None).await?.status != 404 {
        if Instant::now() >= end {
            return Err(CommandError::running(format_args!(
                "{what} is not gone after a minute; `kubectl get` shows which finalizer it waits for"
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// The objects with its labels.
fn selected(object: &Value) -> String {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let pairs = labels
        .map(|(key, value)| format!("{}%3D{}", key.replace('/', "%2F"), value.as_str().unwrap_or_default()));
    format!("{}?labelSelector={}", collection(object), pairs.collect::<Vec<_>>().join("%2C"))
}

/// Whether it stays without `--all`.
fn is_kept(object: &Value) -> bool {
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
    fn the_api_server_calls_nothing_that_is_being_deleted() {
        let of = |kind: &str| order(&json!({"kind": kind}));
        let kinds =
            ["ValidatingWebhookConfiguration", "Deployment", "RoleBinding", "Role", "Secret", "Namespace"];
        assert!(kinds.is_sorted_by_key(|kind| of(kind)));
        assert!(of("Service") > of("MutatingWebhookConfiguration"));
    }

    #[test]
    fn objects_without_a_name_are_selected_by_label() {
        let leases = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "shop", "labels": {"vestibule.dev/replica": "true"}},
        });
        assert_eq!(
            selected(&leases),
            "/apis/coordination.k8s.io/v1/namespaces/shop/leases?labelSelector=vestibule.dev%2Freplica%3Dtrue"
        );
    }
}
