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
        Self::of(config(chain, key))
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

    /// Sends data at once after the handshake, then an alert, and waits for the client to hang up.
    pub(super) fn greeting(chain: Vec<CertificateDer<'static>>, key: &[u8]) -> Self {
        let config = Arc::new(config(chain, key));
        Self::start(move |mut stream| {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            connection.writer().write_all(b"hello").unwrap();
            while connection.is_handshaking() {
                // Not beyond the handshake: rustls reads nothing after the client's `close_notify`.
                connection.read_tls(&mut &record(&mut stream)[..]).unwrap();
                connection.process_new_packets().unwrap();
                send(&mut connection, &mut stream);
            }
            // A record that cannot be decrypted makes rustls send `bad_record_mac`.
            let mut undecryptable = &[&[23, 3, 3, 0, 32][..], &[0; 32]].concat()[..];
            connection.read_tls(&mut undecryptable).unwrap();
            connection.process_new_packets().unwrap_err();
            send(&mut connection, &mut stream);
            let _gone = std::io::copy(&mut stream, &mut std::io::sink());
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

fn config(chain: Vec<CertificateDer<'static>>, key: &[u8]) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivatePkcs8KeyDer::from(key.to_vec()).into();
    builder.with_single_cert(chain, key).unwrap()
}

/// Reads one TLS record.
fn record(stream: &mut TcpStream) -> Vec<u8> {
    let mut record = vec![0; 5];
    stream.read_exact(&mut record).unwrap();
    let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
    record.resize(5 + length, 0);
    stream.read_exact(&mut record[5..]).unwrap();
    record
}

fn send(connection: &mut ServerConnection, stream: &mut TcpStream) {
    while connection.wants_write() {
        connection.write_tls(stream).unwrap();
    }
}
