//! TLS with the settings of kube-apiserver's client.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio_rustls::TlsConnector;

use crate::setup_error::SetupError;

pub(crate) fn connector(ca_bundle: &[u8]) -> Result<TlsConnector, SetupError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Tls(Box::new(error)))?
        .with_root_certificates(roots(ca_bundle)?)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn roots(ca_bundle: &[u8]) -> Result<RootCertStore, SetupError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_bundle) {
        let added = certificate.ok().and_then(|certificate| roots.add(certificate).ok());
        added.ok_or(SetupError::Bundle)?;
    }
    if roots.is_empty() { Err(SetupError::Bundle) } else { Ok(roots) }
}
