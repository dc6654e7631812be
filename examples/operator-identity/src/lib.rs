//! A small operator that uses `vestibule-identity` and no other crate of Vestibule.
//!
//! Its custom resource has two versions, so the API server calls it at every read of the older one, and must trust its
//! certificate at every moment. Start reading at [`run`].

pub mod conversion;
pub mod manifests;
pub mod reconcile;
pub mod widget;

use std::sync::Arc;

use kube::Client;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use vestibule_identity::{
    Identity, NamespacedName, RegistrationKind, RegistrationName, Settings, server_config,
};

/// The settings of the identity: the Service that the API server calls, and the object that holds its `caBundle`.
#[must_use]
pub fn settings(service: NamespacedName) -> Settings {
    let mut settings = Settings::for_service(service);
    let (kind, name) = (RegistrationKind::CustomResource, widget::CRD.to_owned());
    settings.registrations = vec![RegistrationName { kind, name }];
    settings
}

/// Runs until it is dropped: serves conversions with the certificate that `identity` has at each handshake, and reconciles
/// the widgets of `namespace` once it is ready. Without a listener nothing is served.
///
/// # Errors
/// The cryptographic library lacks a required algorithm.
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
