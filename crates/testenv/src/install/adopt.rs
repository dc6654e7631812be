//! Waiting for objects that others keep.

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::discovery::pinned_kind;
use serde_json::Value;

use super::{Configuration, Identity, Installed, add_hook, apply, wait, wait_until_asked, wait_until_served};
use crate::{Environment, Error, poll};

impl Environment {
    /// Applies `objects` in their order, and waits for nothing: somebody else is to make them work.
    ///
    /// # Errors
    /// [`Error::Api`] for an object that the API server refuses.
    pub async fn apply(&self, objects: impl IntoIterator<Item = Value>) -> Result<(), Error> {
        let client = self.admin()?;
        for object in objects {
            apply(&client, &Identity::of(&object)?, &object).await?;
        }
        Ok(())
    }

    /// As [`Environment::install`], of objects that are there already and that somebody else keeps: returns when every
    /// hook of every webhook configuration among them has a `caBundle`, and every API server acts on them.
    ///
    /// # Errors
    /// [`Error::Api`] for an object that is not there, [`Error::Late`] when nobody makes it work.
    pub async fn adopt(&self, objects: &[Value]) -> Result<Installed, Error> {
        let client = self.admin()?;
        let mut installed = Installed::nothing_on(self);
        for object in objects {
            let identity = Identity::of(object)?;
            if !identity.is_webhook_configuration() {
                match identity.kind.kind.as_str() {
                    "CustomResourceDefinition" => wait_until_served(&installed.servers, object).await?,
                    "APIService" => wait_until_asked(&installed.servers, object).await?,
                    _ => {}
                }
                continue;
            }
            let Identity { kind, name, .. } = identity;
            let action = || format!("add a hook to {} {name}", kind.kind);
            let (resource, _) = pinned_kind(&client, &kind).await.map_err(Error::api(action()))?;
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let marker = format!("m{}", self.number());
            // Known before it is waited for: it goes also when the wait fails.
            installed.configurations.push(Configuration {
                name: name.clone(),
                resource: resource.clone(),
                marker: marker.clone(),
            });
            let what = format!("every hook of {} {name} having a caBundle", kind.kind);
            poll::retry(&what, 60, async || {
                let mut found = api.get(&name).await.map_err(Error::api(action()))?;
                if !trusts(&found.data) {
                    return Ok(None);
                }
                // Whoever sees this hook sees everything that was written before it.
                add_hook(&mut found.data, self.markers.hook(&marker))?;
                match api.replace(&name, &PostParams::default(), &found).await {
                    Err(kube::Error::Api(status)) if status.is_conflict() => Ok(None),
                    other => other.map(|_| Some(())).map_err(Error::api(action())),
                }
            })
            .await?;
        }
        wait(&installed.servers, &installed.configurations, true).await?;
        Ok(installed)
    }
}

/// Whether every hook of a configuration has a bundle, and it has hooks.
fn trusts(configuration: &Value) -> bool {
    let hooks = configuration["webhooks"].as_array().map_or(&[][..], Vec::as_slice);
    let bundle = |hook: &Value| hook["clientConfig"]["caBundle"].as_str().is_some_and(|it| !it.is_empty());
    !hooks.is_empty() && hooks.iter().all(bundle)
}
