//! One TLS handshake as kube-apiserver begins it, which accepts every certificate and records it.

mod recorder;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, PeerIncompatible,
    ProtocolVersion,
};
use rustls_pki_types::{CertificateDer, ServerName};

use recorder::Recorder;

/// How long to wait for a server that asked for a client certificate to say that it insists.
const SECOND_THOUGHTS: Duration = Duration::from_secs(2);

/// The result of a handshake.
#[derive(Default)]
pub(super) struct Shaken {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) tls: Option<&'static str>,
    pub(super) asks_for_certificate: bool,
    pub(super) error: Option<HandshakeError>,
}

/// Why it did not come to an end.
pub(super) enum HandshakeError {
    /// The server closed the connection or went silent.
    Broken(io::Error),
    /// Its first bytes are no TLS.
    Plain {
        http: bool,
    },
    /// It speaks no TLS from 1.2 on.
    TooOld,
    /// It sent an alert.
    Alert(AlertDescription),
    /// It does not hold the key of its certificate.
    Signature,
    Other(Error),
}

pub(super) fn shake(
    address: SocketAddr,
    name: ServerName<'static>,
    timeout: Duration,
) -> Result<Shaken, io::Error> {
    let recorder = Arc::new(Recorder::default());
    let mut connection =
        ClientConnection::new(Arc::new(config(&recorder)?), name).map_err(io::Error::other)?;
    let deadline = Instant::now() + timeout;
    let mut wire = Wire { stream: TcpStream::connect_timeout(&address, timeout)?, deadline };
    let error = converse(&mut connection, &mut wire).err();
    let tls = connection.protocol_version().and_then(version);
    let seen = std::mem::take(&mut *recorder.lock());
    Ok(Shaken { chain: seen.chain, tls, asks_for_certificate: seen.asked, error })
}

fn config(recorder: &Arc<Recorder>) -> Result<ClientConfig, io::Error> {
    let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(io::Error::other)?
        .dangerous()
        // Nothing is sent over this connection: what would be refused is to be seen first.
        .with_custom_certificate_verifier(Arc::clone(recorder) as Arc<dyn ServerCertVerifier>)
        .with_client_cert_resolver(Arc::clone(recorder) as Arc<dyn ResolvesClientCert>);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn converse(connection: &mut ClientConnection, wire: &mut Wire) -> Result<(), HandshakeError> {
    flush(connection, wire)?;
    wire.first_bytes()?;
    while connection.is_handshaking() {
        receive(connection, wire)?;
        flush(connection, wire)?;
    }
    // TLS 1.3: a server reports a missing client certificate after our handshake has ended. A server that does not require
    // one answers our close_notify with its own.
    connection.send_close_notify();
    flush(connection, wire)?;
    wire.deadline = wire.deadline.min(Instant::now() + SECOND_THOUGHTS);
    loop {
        match receive(connection, wire) {
            Ok(0) | Err(HandshakeError::Broken(_)) => return Ok(()),
            Ok(_) => {}
            Err(HandshakeError::Alert(alert)) => return Err(HandshakeError::Alert(alert)),
            Err(_) => return Ok(()),
        }
    }
}

fn flush(connection: &mut ClientConnection, wire: &mut Wire) -> Result<(), HandshakeError> {
    while connection.wants_write() {
        connection.write_tls(wire).map_err(HandshakeError::Broken)?;
    }
    Ok(())
}

fn receive(connection: &mut ClientConnection, wire: &mut Wire) -> Result<usize, HandshakeError> {
    let count = connection.read_tls(wire).map_err(HandshakeError::Broken)?;
    let state = match connection.process_new_packets() {
        Ok(state) => state,
        Err(error) => {
            // The alert, so that the server's log says something too.
            let _unsent = flush(connection, wire);
            return Err(error.into());
        }
    };
    let mut rest = vec![0; state.plaintext_bytes_to_read()];
    let _unread = connection.reader().read(&mut rest);
    if count == 0 && connection.is_handshaking() {
        return Err(HandshakeError::Broken(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(if state.peer_has_closed() { 0 } else { count })
}

/// A socket with one deadline for everything.
struct Wire {
    stream: TcpStream,
    deadline: Instant,
}

impl Wire {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    /// rustls tells one kind of rubbish from another no better than we can here.
    fn first_bytes(&mut self) -> Result<(), HandshakeError> {
        const HANDSHAKE: u8 = 22;
        const ALERT: u8 = 21;
        let mut bytes = [0; 5];
        let count = self
            .left()
            .and_then(|left| self.stream.set_read_timeout(Some(left)))
            .and_then(|()| self.stream.peek(&mut bytes))
            .map_err(HandshakeError::Broken)?;
        match bytes.first() {
            _ if count == 0 => Err(HandshakeError::Broken(io::ErrorKind::UnexpectedEof.into())),
            Some(&(HANDSHAKE | ALERT)) => Ok(()),
            _ => Err(HandshakeError::Plain { http: bytes.starts_with(b"HTTP") }),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Wire {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl From<Error> for HandshakeError {
    fn from(error: Error) -> Self {
        match error {
            Error::AlertReceived(AlertDescription::ProtocolVersion)
            | Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::TooOld,
            Error::AlertReceived(alert) => Self::Alert(alert),
            Error::InvalidCertificate(CertificateError::BadSignature) => Self::Signature,
            other => Self::Other(other),
        }
    }
}

fn version(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("TLS 1.2"),
        ProtocolVersion::TLSv1_3 => Some("TLS 1.3"),
        _ => None,
    }
}
