//! Waits until the API server serves a new kind, and until it calls the webhook.

use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

use super::api::{answered, api, get};
use super::{InstallArguments, PAUSE, title};
use crate::{CommandError, say};

/// The API server serves a new kind within a second or two.
const ESTABLISHED: Duration = Duration::from_secs(60);

impl InstallArguments {
    pub(super) async fn wait_until_called(
        &self,
        client: &Client,
        name: &str,
        refused: &Value,
    ) -> Result<(), CommandError> {
        let end = Instant::now() + self.timeout;
        let probe = serde_json::from_value(refused.clone()).map_err(CommandError::running)?;
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        let mut reported = String::new();
        loop {
            let answer = answered(api(client, refused).create(&parameters, &probe)).await?;
            if let Err(status) = answer
                && status.code == 403
                && is_denied_by(&entry_names(client, name).await?, &status.message)
            {
                return Ok(());
            }
            let state = self.state(client, name).await?;
            if state != reported {
                say(format_args!("waiting  {state}"));
                reported = state;
            }
            if Instant::now() >= end {
                return Err(CommandError::running(format_args!(
                    "the API server does not call {name} after {:#}: {reported}. What is installed stays; `kubectl describe pods \
                     -n {}` and `kubectl logs -n {} deployment/{name}` say more",
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
        let deployments = Api::<Deployment>::namespaced(client.clone(), &self.namespace);
        let deployment = answered(deployments.get(name)).await?.unwrap_or_default();
        let wanted = deployment.spec.and_then(|spec| spec.replicas).unwrap_or_default();
        let available = deployment.status.and_then(|status| status.available_replicas).unwrap_or_default();
        let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
        let entries = answered(configurations.get(name)).await?.unwrap_or_default().webhooks;
        let first = entries.unwrap_or_default().into_iter().next();
        let registered = match first.is_some_and(|entry| entry.client_config.ca_bundle.is_some()) {
            true => "registered",
            false => "no replica has registered itself",
        };
        Ok(format!("{available} of {wanted} pods available; {registered}"))
    }
}

/// The names of the entries in both configurations.
async fn entry_names(client: &Client, name: &str) -> Result<Vec<String>, CommandError> {
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    let validating = answered(validating.get(name)).await?.unwrap_or_default().webhooks.unwrap_or_default();
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let mutating = answered(mutating.get(name)).await?.unwrap_or_default().webhooks.unwrap_or_default();
    let names = validating.into_iter().map(|entry| entry.name);
    Ok(names.chain(mutating.into_iter().map(|entry| entry.name)).collect())
}

/// Whether one of these entries denied the request. The webhook of another program may deny it too.
fn is_denied_by(entries: &[String], message: &str) -> bool {
    entries.iter().any(|entry| message.contains(&format!("admission webhook \"{entry}\" denied the request")))
}

/// Waits until the API server takes objects of this kind.
pub(super) async fn until_established(client: &Client, definition: &Value) -> Result<(), CommandError> {
    let end = Instant::now() + ESTABLISHED;
    loop {
        let found = get(client, definition).await?;
        let status = found.map(|found| found.data["status"].clone()).unwrap_or_default();
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        if conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True") {
            return Ok(());
        }
        if Instant::now() >= end {
            let what = title(definition);
            return Err(CommandError::running(format_args!("{what} is not established: {status}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy engine that refuses the probe was taken for the webhook, which was not called yet.
    #[test]
    fn only_a_denial_of_our_own_entry_proves_that_the_webhook_is_called() {
        let entries = ["rules.injector.example.com".to_owned()];
        let denied =
            |by: &str| is_denied_by(&entries, &format!("admission webhook \"{by}\" denied the request: no"));
        assert!(denied("rules.injector.example.com"));
        assert!(!denied("validate.kyverno.svc-fail"));
    }
}
