//! One webhook at two addresses. At the first, each answer closes its connection, so that the API server verifies the
//! certificate at every call; a kept connection would hide a bad certificate.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use fire::{ReplicaEvent, hook};
use k8s_openapi::api::core::v1::ConfigMap;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Options, Reject, on};
use vestibule_identity::Identity;

use crate::events::EventPrinter;
use crate::print_event;

/// The balancer learns within this time that this replica is not ready.
const DRAIN_DELAY: Duration = Duration::from_secs(1);

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Serves until SIGTERM, then drains until the last connection is closed.
pub(crate) async fn run(identity: Arc<dyn Identity>) -> anyhow::Result<()> {
    let mut options = Options::new(ANY, Arc::clone(&identity));
    options.settings.drain_delay = DRAIN_DELAY;
    options.observer = Some(Arc::new(EventPrinter::of(None)));
    let keep = app().bind(options.clone()).await?;
    options.settings.connection_age = Some(Duration::ZERO);
    options.settings.probes = Some(ANY);
    options.observer = Some(Arc::new(EventPrinter::of(Some(identity))));
    let close = app().bind(options).await?;

    let hooks = [close.address(), keep.address()];
    let probes = close.probes_address().unwrap_or(ANY);
    print_event(&ReplicaEvent::Listening { process: std::process::id(), hooks, probes });
    tokio::try_join!(close.serve_until_signalled(), keep.serve_until_signalled())?;
    Ok(())
}

fn app() -> App {
    let configmaps = || on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Fail);
    App::new("fire").mutate("close", configmaps(), answer).mutate("keep", configmaps(), answer)
}

/// Adds an annotation, by which the load recognises that the webhook was called.
async fn answer(mut object: ConfigMap, _context: Context) -> Result<ConfigMap, Reject> {
    let annotations = object.metadata.annotations.get_or_insert_default();
    annotations.insert(hook::ANNOTATION.to_owned(), std::process::id().to_string());
    Ok(object)
}
