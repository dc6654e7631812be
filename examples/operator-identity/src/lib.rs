//! A small operator of somebody who uses `vestibule-identity` and nothing else of ours.
//!
//! Its custom resource has two versions, so the API server calls it at every read of the older one, and must trust its
//! certificate at every moment. [`run`] is all that this takes.

pub mod conversion;
pub mod manifests;
pub mod reconcile;
pub mod widget;

use std::sync::Arc;

use kube::Client;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use vestibule_identity::{Identity, NamespacedName, Settings, server_config};

/// What an identity is told: the Service that the API server calls, and the object that holds its `caBundle`.
///
/// # Errors
/// A registration's name that is none.
pub fn settings(service: NamespacedName) -> anyhow::Result<Settings> {
    let mut settings = Settings::for_service(service);
    settings.registrations = vec![format!("crd/{}", widget::CRD).parse()?];
    Ok(settings)
}

/// Runs until it is dropped: serves conversions with the certificate that `identity` has at each handshake, and reconciles
/// the widgets of `namespace` once it is ready. Without a listener nothing is served.
///
/// # Errors
/// The cryptographic library cannot be used as it was built.
pub async fn run(
    client: Client,
    identity: Arc<dyn Identity>,
    listener: Option<TcpListener>,
    namespace: &str,
) -> anyhow::Result<()> {
    let work = async {
        identity.ready().await;
        tracing::info!("ready");
        reconcile::run(client, namespace).await;
    };
    let Some(listener) = listener else {
        work.await;
        return Ok(());
    };
    let tls = TlsAcceptor::from(server_config(identity.clone())?);
    tokio::select! {
        () = conversion::serve(listener, tls, identity.clone()) => {}
        () = work => {}
    }
    Ok(())
}
