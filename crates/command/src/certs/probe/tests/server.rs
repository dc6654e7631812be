//! Servers of all kinds, each for as many connections as come while it lives.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};

pub(super) struct Server(SocketAddr);

impl Server {
    pub(super) fn address(&self) -> String {
        self.0.to_string()
    }

    pub(super) fn tls(chain: Vec<CertificateDer<'static>>, key: &[u8]) -> Self {
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let key = PrivatePkcs8KeyDer::from(key.to_vec()).into();
        Self::of(builder.with_single_cert(chain, key).unwrap())
    }

    /// Asks for a client certificate of one of these CAs.
    pub(super) fn asking(
        chain: Vec<CertificateDer<'static>>,
        key: &[u8],
        bundle: &str,
        required: bool,
    ) -> Self {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(vestibule_pki::ring::read_bundle(bundle).into_values());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
        let verifier = if required { verifier } else { verifier.allow_unauthenticated() }.build().unwrap();
        let builder =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivatePkcs8KeyDer::from(key.to_vec()).into();
        Self::of(builder.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap())
    }

    fn of(config: ServerConfig) -> Self {
        let config = Arc::new(config);
        Self::start(move |mut stream| {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // Until it is over, one way or another.
            while connection.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {}
            let _gone = connection.complete_io(&mut stream);
        })
    }

    /// Reads the client's greeting, answers with these bytes, and hangs up.
    pub(super) fn saying(bytes: &[u8]) -> Self {
        let bytes = bytes.to_vec();
        Self::start(move |mut stream| {
            let mut greeting = [0; 4096];
            let _read = stream.read(&mut greeting);
            let _gone = stream.write_all(&bytes);
        })
    }

    fn start(mut serve: impl FnMut(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || listener.incoming().flatten().for_each(&mut serve));
        Self(address)
    }
}
