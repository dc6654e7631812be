//! Installing objects, and waiting until the API servers act on them.

mod adopt;

use std::sync::mpsc;
use std::time::Duration;

use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, Resource};
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::background::background;
use crate::environment::Environment;
use crate::error::Error;
use crate::openapi::get;
use crate::{marker, poll};

/// Webhook configurations that are live, until this is dropped or [uninstalled](Installed::uninstall).
#[must_use = "the configurations are removed when this is dropped"]
pub struct Installed {
    servers: Vec<ApiServer>,
    configurations: Vec<Configuration>,
}

#[derive(Clone)]
struct Configuration {
    name: String,
    resource: ApiResource,
    marker: String,
}

impl Environment {
    /// Applies `objects` in order, and returns when every API server acts on each of them: it calls
    /// every hook of every webhook configuration, serves every custom resource, and proxies every
    /// aggregated API.
    ///
    /// Each configuration gets one more hook, `is-ready.testenv.vestibule.dev`, which denies marker
    /// objects in a namespace that only testenv uses. The wait times out if another hook fails or
    /// denies *every* ConfigMap of every namespace.
    ///
    /// Webhook configurations are deleted when the returned value is dropped; other objects stay.
    ///
    /// # Errors
    /// [`Error::Api`] for an object that the API server refuses, [`Error::Late`] when it does not act on one in time.
    pub async fn install(&self, objects: impl IntoIterator<Item = Value>) -> Result<Installed, Error> {
        let client = self.admin()?;
        let mut installed = Installed::empty(self);
        for mut object in objects {
            let identity = Identity::of(&object)?;
            if !identity.is_webhook_configuration() {
                apply(&client, &identity, &object).await?;
                wait_until_effective(&installed.servers, &identity, &object).await?;
                continue;
            }
            let marker = format!("m{}", self.next_number());
            add_hook(&mut object, self.markers.hook(&marker))?;
            let resource = apply(&client, &identity, &object).await?;
            // Noted before the wait, so that it is deleted also when the wait fails.
            installed.configurations.push(Configuration { name: identity.name, resource, marker });
        }
        wait(&installed.servers, &installed.configurations, true).await?;
        Ok(installed)
    }
}

impl Installed {
    fn empty(environment: &Environment) -> Self {
        Self { servers: environment.api_servers().cloned().collect(), configurations: Vec::new() }
    }

    /// Removes the configurations, and returns when no API server acts on them any longer.
    ///
    /// # Errors
    /// [`Error::Api`] when a deletion fails, [`Error::Late`] when a server still acts on one after a minute.
    pub async fn uninstall(mut self) -> Result<(), Error> {
        let configurations = std::mem::take(&mut self.configurations);
        delete(&self.servers, &configurations).await?;
        wait(&self.servers, &configurations, false).await
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        const TIMEOUT: Duration = Duration::from_secs(5);
        let configurations = std::mem::take(&mut self.configurations);
        let Ok(runtime) = background() else { return };
        if configurations.is_empty() {
            return;
        }
        let (done, wait) = mpsc::channel();
        let servers = std::mem::take(&mut self.servers);
        runtime.spawn(async move {
            let _ = delete(&servers, &configurations).await;
            let _ = done.send(());
        });
        // The environment may have ended already; then the deletion never finishes.
        let _ = wait.recv_timeout(TIMEOUT);
    }
}

/// Waits until each configuration is live on each server, or, unless `live`, no longer is.
async fn wait(servers: &[ApiServer], configurations: &[Configuration], live: bool) -> Result<(), Error> {
    for server in servers {
        let client = server.admin()?;
        for configuration in configurations {
            marker::wait(&client, &configuration.marker, live).await?;
        }
    }
    Ok(())
}

async fn delete(servers: &[ApiServer], configurations: &[Configuration]) -> Result<(), Error> {
    let Some(first) = servers.first() else { return Ok(()) };
    let client = first.admin()?;
    for Configuration { name, resource, .. } in configurations {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
        match api.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            other => drop(other.map_err(Error::api(format!("delete {} {name}", resource.kind)))?),
        }
    }
    Ok(())
}

/// The type, namespace and name of an object.
struct Identity {
    kind: GroupVersionKind,
    namespace: Option<String>,
    name: String,
}

impl Identity {
    fn of(object: &Value) -> Result<Self, Error> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let required = |pointer| text(pointer).ok_or_else(|| Error::Object(format!("it has no {pointer}")));
        let (api_version, kind) = (required("/apiVersion")?, required("/kind")?);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Ok(Self {
            kind: GroupVersionKind::gvk(group, version, kind),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: required("/metadata/name")?.to_owned(),
        })
    }

    fn is_webhook_configuration(&self) -> bool {
        self.kind.group == "admissionregistration.k8s.io" && self.kind.kind.ends_with("WebhookConfiguration")
    }
}

async fn apply(client: &Client, identity: &Identity, object: &Value) -> Result<ApiResource, Error> {
    let Identity { kind, namespace, name } = identity;
    let action = || format!("apply {} {name}", kind.kind);
    let (resource, capabilities) = pinned_kind(client, kind).await.map_err(Error::api(action()))?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            Api::namespaced_with(client.clone(), namespace.as_deref().unwrap_or("default"), &resource)
        }
    };
    let mut object = object.clone();
    if let (Scope::Cluster, Some(metadata)) = (capabilities.scope, object["metadata"].as_object_mut()) {
        // A cluster-scoped object in a manifest may carry a namespace, which kubectl ignores too.
        metadata.remove("namespace");
    }
    let parameters = PatchParams::apply("testenv").force();
    api.patch(name, &parameters, &Patch::Apply(&object)).await.map_err(Error::api(action()))?;
    Ok(resource)
}

/// Puts the hook first, so that no other hook of the configuration can deny a marker before it.
fn add_hook(configuration: &mut Value, hook: Value) -> Result<(), Error> {
    let hooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut);
    hooks
        .ok_or_else(|| Error::Object("a webhook configuration without webhooks".to_owned()))?
        .insert(0, hook);
    Ok(())
}

/// Waits until each server acts on an object that is no webhook configuration.
async fn wait_until_effective(
    servers: &[ApiServer],
    identity: &Identity,
    object: &Value,
) -> Result<(), Error> {
    match identity.kind.kind.as_str() {
        "CustomResourceDefinition" => wait_until_served(servers, object).await,
        "APIService" => wait_until_proxied(servers, object).await,
        _ => Ok(()),
    }
}

async fn wait_until_served(servers: &[ApiServer], definition: &Value) -> Result<(), Error> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] == true);
    let kinds = served.map(|version| {
        let name = version["name"].as_str().unwrap_or_default();
        GroupVersionKind::gvk(text("/spec/group"), name, text("/spec/names/kind"))
    });
    for kind in kinds {
        for server in servers {
            let client = server.admin()?;
            poll::retry(&format!("{} {} being served", kind.api_version(), kind.kind), 60, async || {
                let Ok((resource, _)) = pinned_kind(&client, &kind).await else { return Ok(None) };
                // The answer is not parsed: a stored object may nest deeper than the JSON parser allows.
                let list = kube::core::Request::new(DynamicObject::url_path(&resource, None));
                let list = list
                    .list(&ListParams::default().limit(1))
                    .map_err(|error| Error::Object(error.to_string()))?;
                Ok(client.request_text(list).await.is_ok().then_some(()))
            })
            .await?;
        }
    }
    Ok(())
}

/// Waits until each server proxies requests for the API of an APIService.
async fn wait_until_proxied(servers: &[ApiServer], object: &Value) -> Result<(), Error> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let path = format!("/apis/{}/{}", text("/spec/group"), text("/spec/version"));
    for server in servers {
        let client = server.admin()?;
        poll::retry(&format!("{path} being answered"), 60, async || {
            Ok(client.request_text(get(&path)?).await.is_ok().then_some(()))
        })
        .await?;
    }
    Ok(())
}
