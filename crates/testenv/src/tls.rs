//! TLS servers and clients for HTTP/1.1.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::certificate::Certificate;
use crate::error::Error;

/// For a server that presents `certificate`.
pub(crate) fn acceptor(certificate: &Certificate) -> Result<TlsAcceptor, Error> {
    let key = PrivateKeyDer::Pkcs8(certificate.key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![read(&certificate.leaf)?], key)?;
    config.alpn_protocols = protocols();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// For a client that trusts the CA `authority` (PEM).
pub(crate) fn connector(authority: &str) -> Result<TlsConnector, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(read(authority)?)?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn protocols() -> Vec<Vec<u8>> {
    vec![b"http/1.1".to_vec()]
}

fn read(certificate: &str) -> Result<CertificateDer<'static>, rustls::Error> {
    CertificateDer::from_pem_slice(certificate.as_bytes())
        .map_err(|error| rustls::Error::General(error.to_string()))
}
