//! TLS as kube-apiserver speaks it (docs/apiserver.md, Connections).

use std::fmt;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio_rustls::TlsAcceptor;

use crate::certificate::PresentCertificate;
use crate::error::BindError;
use crate::settings::TlsVersion;

pub(crate) fn acceptor(
    oldest: TlsVersion,
    certificate: Arc<dyn PresentCertificate>,
) -> Result<TlsAcceptor, BindError> {
    let versions: &[&SupportedProtocolVersion] = match oldest {
        TlsVersion::V1_2 => &[&TLS12, &TLS13],
        TlsVersion::V1_3 => &[&TLS13],
    };
    let provider = aws_lc_rs::default_provider();
    // The first use of the random generator takes 25 ms: better now than in the first handshake.
    provider.secure_random.fill(&mut [0]).map_err(|_| BindError::Random)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .map_err(|error| BindError::Tls(error.to_string()))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Resolver(certificate)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // kube-apiserver keeps no sessions: tickets would be wasted work.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Presents the same certificate whatever name the client asks for: one that calls an IP address sends no name.
struct Resolver(Arc<dyn PresentCertificate>);

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.present().map(|certificate| certificate.certified())
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Resolver")
    }
}
