//! For every widget a ConfigMap of the same name, whose `url` pods can take as a variable.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};

use crate::widget::{self, Widget};

/// The reconciliation of a widget failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused a request.
    #[error("the ConfigMap cannot be written: {0}")]
    Api(#[from] kube::Error),
}

struct Context {
    client: Client,
}

/// Reconciles the ConfigMaps of a namespace until it is dropped; it may be dropped at any time.
pub async fn run(client: Client, namespace: &str) {
    let widgets: Api<Widget> = Api::namespaced_with(client.clone(), namespace, &widget::resource("v2"));
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let everything = watcher::Config::default;
    Controller::new_with(widgets, everything(), widget::resource("v2"))
        .owns(config_maps, everything())
        .run(reconcile, retry, Arc::new(Context { client }))
        .for_each(async |outcome| match outcome {
            Ok((widget, _)) => tracing::info!(%widget, "reconciled"),
            Err(error) => tracing::warn!(%error, "it will be tried again"),
        })
        .await;
}

async fn reconcile(widget: Arc<Widget>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = widget.namespace().unwrap_or_default();
    let config_maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let url = format!("http://{}:{}", widget.spec.host, widget.spec.port);
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some(widget.name_any());
    wanted.metadata.owner_references =
        widget.controller_owner_ref(&widget::resource("v2")).map(|owner| vec![owner]);
    wanted.data = Some([("url".to_owned(), url)].into());
    let ours = PatchParams::apply("operator-identity").force();
    config_maps.patch(&widget.name_any(), &ours, &Patch::Apply(&wanted)).await?;
    Ok(Action::await_change())
}

fn retry(_: Arc<Widget>, _: &Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}
