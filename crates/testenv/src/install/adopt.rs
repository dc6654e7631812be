//! Waiting for objects that another program maintains.

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::discovery::pinned_kind;
use serde_json::Value;

use super::{Configuration, Identity, Installed, add_hook, apply, wait, wait_until_effective};
use crate::environment::Environment;
use crate::error::Error;
use crate::poll;

impl Environment {
    /// Applies `objects` in order, and does not wait until they take effect.
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

    /// As [`Environment::install`], for existing objects that another program maintains: returns when every hook of
    /// every webhook configuration among them has a `caBundle`, and every API server acts on them.
    ///
    /// # Errors
    /// [`Error::Api`] for a missing object, [`Error::Late`] when an object does not take effect in time.
    pub async fn adopt(&self, objects: &[Value]) -> Result<Installed, Error> {
        let client = self.admin()?;
        let mut installed = Installed::empty(self);
        for object in objects {
            let identity = Identity::of(object)?;
            if !identity.is_webhook_configuration() {
                wait_until_effective(&installed.servers, &identity, object).await?;
                continue;
            }
            let Identity { kind, name, .. } = identity;
            let action = || format!("add a hook to {} {name}", kind.kind);
            let (resource, _) = pinned_kind(&client, &kind).await.map_err(Error::api(action()))?;
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let marker = format!("m{}", self.next_number());
            // Noted before the wait, so that it is deleted also when the wait fails.
            installed.configurations.push(Configuration {
                name: name.clone(),
                resource: resource.clone(),
                marker: marker.clone(),
            });
            let what = format!("every hook of {} {name} having a caBundle", kind.kind);
            poll::retry(&what, 60, async || {
                let mut found = api.get(&name).await.map_err(Error::api(action()))?;
                if !has_ca_bundles(&found.data) {
                    return Ok(None);
                }
                // An API server that sees this hook also sees every earlier change of the object.
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

/// Whether a configuration has hooks and each of them has a `caBundle`.
fn has_ca_bundles(configuration: &Value) -> bool {
    let hooks = configuration["webhooks"].as_array().map_or(&[][..], Vec::as_slice);
    let bundle = |hook: &Value| hook["clientConfig"]["caBundle"].as_str().is_some_and(|it| !it.is_empty());
    !hooks.is_empty() && hooks.iter().all(bundle)
}
