//! TLS as kube-apiserver speaks it (docs/apiserver.md, Connections).

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::bind_error::BindError;
use crate::certificate::PresentCertificate;
use crate::client::{DeferredVerifier, Peer, Possession};
use crate::settings::TlsVersion;

type Versions = &'static [&'static SupportedProtocolVersion];

static FROM_1_2: Versions = &[&TLS12, &TLS13];
static FROM_1_3: Versions = &[&TLS13];

/// Performs TLS handshakes.
pub(crate) struct Handshakes {
    provider: Arc<CryptoProvider>,
    versions: Versions,
    resolver: Arc<Resolver>,
    /// The configuration of all handshakes; [`None`] if clients are asked for certificates.
    shared: Option<TlsAcceptor>,
}

impl Handshakes {
    /// With `ask_for_certificates`, clients are asked for a certificate, which they may omit.
    pub(crate) fn new(
        oldest: TlsVersion,
        certificate: Arc<dyn PresentCertificate>,
        ask_for_certificates: bool,
    ) -> Result<Self, BindError> {
        let provider = aws_lc_rs::default_provider();
        // The first use of the random generator takes 20 ms if aws-lc measures the jitter of the processor (ADR 0114), which would delay
        // the first handshake.
        provider.secure_random.fill(&mut [0]).map_err(|_| BindError::Random)?;
        let versions = match oldest {
            TlsVersion::V1_2 => FROM_1_2,
            TlsVersion::V1_3 => FROM_1_3,
        };
        let (provider, resolver) = (Arc::new(provider), Arc::new(Resolver(certificate)));
        let mut handshakes = Self { provider, versions, resolver, shared: None };
        // Also built if it is not used, so that an invalid configuration is an error at the start.
        let acceptor = handshakes.acceptor(WebPkiClientVerifier::no_client_auth());
        let acceptor = acceptor.map_err(|error| BindError::Tls(error.to_string()))?;
        handshakes.shared = (!ask_for_certificates).then_some(acceptor);
        Ok(handshakes)
    }

    /// Performs one handshake, and returns the client's certificate with the stream. The stream is boxed: with its size of more than
    /// 1 KiB it would be a part of every future that holds it.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<(Box<TlsStream<TcpStream>>, Peer)> {
        if let Some(acceptor) = &self.shared {
            return Ok((Box::new(acceptor.accept(stream).await?), Peer::default()));
        }
        let possession = Arc::new(Possession::default());
        let algorithms = self.provider.signature_verification_algorithms;
        let verifier = Arc::new(DeferredVerifier::new(algorithms, Arc::clone(&possession)));
        let acceptor = self.acceptor(verifier).map_err(io::Error::other)?;
        let stream = acceptor.accept(stream).await?;
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
        Ok((Box::new(stream), Peer::new(chain, possession)))
    }

    fn acceptor(&self, verifier: Arc<dyn ClientCertVerifier>) -> Result<TlsAcceptor, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(self.versions)?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::clone(&self.resolver) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // kube-apiserver resumes no sessions, so it needs no tickets.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// Presents the same certificate for every server name: a client that calls an IP address sends none.
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
