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
use crate::terminal_escape::escape;
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
        let mut reported = String::new();
        let mut foreign: Option<String> = None;
        loop {
            let state = match self.is_called(client, name, refused, &mut foreign).await {
                Ok(true) => return Ok(()),
                Ok(false) => self.state(client, name).await,
                Err(error) => Err(error),
            };
            // An API server that restarts refuses connections for a while.
            let mut state = match state {
                Err(error) if Instant::now() >= end => return Err(error),
                Err(error) => error.to_string(),
                Ok(state) => state,
            };
            if let Some(webhook) = &foreign {
                let (webhook, probe) = (escape(webhook), title(refused));
                state += &format!(
                    "; webhook \"{webhook}\" of another program denies {probe}, which only {name} should deny"
                );
            }
            if state != reported {
                say(format_args!("waiting  {state}"));
                reported = state;
            }
            if Instant::now() >= end {
                let fact = if foreign.is_some() { "is not known to call" } else { "does not call" };
                return Err(CommandError::running(format_args!(
                    "the API server {fact} {name} after {:#}: {reported}. What is installed stays; `kubectl describe pods \
                     -n {}` and `kubectl logs -n {} deployment/{name}` say more",
                    jiff::SignedDuration::try_from(self.timeout).unwrap_or_default(),
                    self.namespace,
                    self.namespace
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether our webhook denies the probe. Another webhook that denies it is kept in `foreign`.
    async fn is_called(
        &self,
        client: &Client,
        name: &str,
        refused: &Value,
        foreign: &mut Option<String>,
    ) -> Result<bool, CommandError> {
        let probe = serde_json::from_value(refused.clone()).map_err(CommandError::running)?;
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        let answer = answered(api(client, refused).create(&parameters, &probe)).await?;
        if let Err(status) = &answer
            && let Some(webhook) = denied_by(&status.message)
        {
            if is_ours(status.code, webhook, entry_names(client, name).await?.as_deref()) {
                return Ok(true);
            }
            // Several webhooks may deny the probe, in changing order: the report names the first.
            foreign.get_or_insert_with(|| webhook.to_owned());
        } else {
            *foreign = None;
        }
        Ok(false)
    }

    /// The parts that are not ready yet, as a line for the user.
    async fn state(&self, client: &Client, name: &str) -> Result<String, CommandError> {
        let deployments = Api::<Deployment>::namespaced(client.clone(), &self.namespace);
        let deployment = answered(deployments.get(name)).await?.unwrap_or_default();
        let wanted = deployment.spec.and_then(|spec| spec.replicas).unwrap_or_default();
        let status = deployment.status.unwrap_or_default();
        let available = status.available_replicas.unwrap_or_default();
        // A pod that a quota or a policy refuses does not exist: no command about pods shows the reason.
        let mut conditions = status.conditions.into_iter().flatten();
        let refused = conditions.find(|one| one.type_ == "ReplicaFailure" && one.status == "True");
        let refused = refused.and_then(|refused| refused.message).unwrap_or_default();
        let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
        let entries = answered(configurations.get(name)).await?.unwrap_or_default().webhooks;
        let first = entries.unwrap_or_default().into_iter().next();
        let registered = match first.is_some_and(|entry| entry.client_config.ca_bundle.is_some()) {
            true => "registered",
            false => "no replica has registered itself",
        };
        let mut state = format!("{available} of {wanted} pods available; {registered}");
        if !refused.is_empty() {
            state += &format!("; pods are not made: {}", escape(&refused));
        }
        Ok(state)
    }
}

/// The names of the entries in both configurations. [`None`] without the right to read them.
async fn entry_names(client: &Client, name: &str) -> Result<Option<Vec<String>>, CommandError> {
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    let validating = answered(validating.get(name)).await?;
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let mutating = answered(mutating.get(name)).await?;
    let mut refusals = validating.as_ref().err().into_iter().chain(mutating.as_ref().err());
    if refusals.any(|status| status.code == 403) {
        return Ok(None);
    }
    let validating = validating.unwrap_or_default().webhooks.unwrap_or_default();
    let mutating = mutating.unwrap_or_default().webhooks.unwrap_or_default();
    let names = validating.into_iter().map(|entry| entry.name);
    Ok(Some(names.chain(mutating.into_iter().map(|entry| entry.name)).collect()))
}

/// The name of the webhook that denied the request. The API server begins its message so; the webhook's own text follows.
fn denied_by(message: &str) -> Option<&str> {
    let (webhook, _) = message.strip_prefix("admission webhook \"")?.split_once("\" denied the request")?;
    Some(webhook)
}

/// Whether `webhook` is one of our entries and has denied the probe; webhooks of other programs may deny it too. If the entries cannot
/// be read, a denial by any webhook counts.
fn is_ours(code: u16, webhook: &str, entries: Option<&[String]>) -> bool {
    code == 403 && entries.is_none_or(|entries| entries.iter().any(|entry| entry == webhook))
}

/// Waits until the API server takes objects of this kind.
pub(super) async fn until_established(client: &Client, definition: &Value) -> Result<(), CommandError> {
    let end = Instant::now() + ESTABLISHED;
    loop {
        let found = get(client, definition).await;
        let is_late = Instant::now() >= end;
        match found {
            Err(error) if is_late => return Err(error),
            Err(_) => {}
            Ok(found) => {
                let status = found.map(|found| found.data["status"].clone()).unwrap_or_default();
                let mut conditions = status["conditions"].as_array().into_iter().flatten();
                if conditions.any(|one| one["type"] == "Established" && one["status"] == "True") {
                    return Ok(());
                }
                if is_late {
                    let what = title(definition);
                    return Err(CommandError::running(format_args!("{what} is not established: {status}")));
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use clap::Parser;
    use kube::Config;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        install: InstallArguments,
    }

    /// `install` failed if the API server restarted while it waited.
    #[tokio::test]
    async fn an_api_server_that_hangs_up_once_is_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            drop(listener.accept().unwrap());
            let denial = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                "message": "admission webhook \"demo.example.com\" denied the request: no",
            });
            let denial = denial.to_string();
            let head =
                format!("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: {}", denial.len());
            // Its denial is ours: without the right to read the configurations any denial is.
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _count = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(format!("{head}\r\n\r\n{denial}").as_bytes()).unwrap();
            }
        });
        let client = Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap();
        let arguments = Arguments::parse_from(["install", "--timeout", "60s"]).install;
        let probe =
            json!({"apiVersion": "vestibule.dev/v1alpha1", "kind": "Demo", "metadata": {"name": "probe"}});
        arguments.wait_until_called(&client, "demo", &probe).await.unwrap();
    }

    /// A policy engine that refuses the probe was taken for the webhook, which was not called yet.
    #[test]
    fn only_a_denial_of_our_own_entry_proves_that_the_webhook_is_called() {
        let (ours, other) = ("rules.injector.example.com", "validate.kyverno.svc-fail");
        let entries = [ours.to_owned()];
        assert!(is_ours(403, ours, Some(&entries)));
        assert!(!is_ours(403, other, Some(&entries)));
        assert!(!is_ours(403, ours, Some(&[])), "no replica has registered itself");
        assert!(is_ours(403, other, None), "without the right to read the entries");
        assert!(!is_ours(400, other, None));
    }

    #[test]
    fn the_message_of_the_api_server_names_the_webhook() {
        let denial = "admission webhook \"a.example.com\" denied the request";
        for rest in
            [": no", " without explanation", ": admission webhook \"b.example.com\" denied the request"]
        {
            assert_eq!(denied_by(&format!("{denial}{rest}")), Some("a.example.com"));
        }
        assert_eq!(denied_by(&format!("no: {denial}")), None);
        assert_eq!(denied_by("injections.vestibule.dev is forbidden"), None);
    }
}
