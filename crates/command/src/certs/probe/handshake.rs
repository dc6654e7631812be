//! One TLS handshake as kube-apiserver begins it, which accepts every certificate and records it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, PeerIncompatible,
    ProtocolVersion,
};
use rustls_pki_types::{CertificateDer, ServerName};

use super::Refusal;
use super::recorder::{Recorded, Recorder};

/// A server that asked for a client certificate gets this time to insist on it.
const TIME_TO_INSIST: Duration = Duration::from_secs(2);

/// The result of a handshake.
pub(super) struct Handshake {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) tls: Option<&'static str>,
    pub(super) asks_for_certificate: bool,
    /// Why the handshake did not succeed, besides the certificates.
    pub(super) failure: Option<Refusal>,
}

pub(super) fn handshake(
    address: SocketAddr,
    name: ServerName<'static>,
    timeout: Duration,
) -> Result<Handshake, io::Error> {
    let recorder = Arc::new(Recorder::default());
    let asked_name = name.to_str().into_owned();
    let mut connection =
        ClientConnection::new(Arc::new(config(&recorder)?), name).map_err(io::Error::other)?;
    let stream = TcpStream::connect_timeout(&address, timeout)?;
    let mut wire = Wire { stream, deadline: Instant::now() + timeout, first_bytes: Vec::new() };
    let error = converse(&mut connection, &mut wire).err();
    let tls = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => Some("TLS 1.2"),
        Some(ProtocolVersion::TLSv1_3) => Some("TLS 1.3"),
        _ => None,
    };
    let Recorded { chain, asks_for_certificate } = std::mem::take(&mut *recorder.lock());
    let failure = error.map(|error| match wire.no_tls() {
        Some(refusal) => refusal,
        None => refusal(&error, asks_for_certificate, &asked_name),
    });
    Ok(Handshake { chain, tls, asks_for_certificate, failure })
}

fn config(recorder: &Arc<Recorder>) -> Result<ClientConfig, io::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(io::Error::other)?
        .dangerous()
        // Nothing is sent over this connection, and certificates that would be refused must be seen first.
        .with_custom_certificate_verifier(Arc::clone(recorder) as Arc<dyn ServerCertVerifier>)
        .with_client_cert_resolver(Arc::clone(recorder) as Arc<dyn ResolvesClientCert>);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn converse(connection: &mut ClientConnection, wire: &mut Wire) -> io::Result<()> {
    connection.complete_io(wire)?;
    // A read that times out after some bytes is no error of `complete_io`.
    if connection.is_handshaking() {
        return Err(ErrorKind::TimedOut.into());
    }
    // TLS 1.3: a server reports a missing client certificate after our handshake has ended. A server that does not require
    // one answers our close_notify with its own.
    connection.send_close_notify();
    wire.deadline = wire.deadline.min(Instant::now() + TIME_TO_INSIST);
    connection.complete_io(wire)?;
    loop {
        // rustls reads no record while received data is left.
        let _would_block = io::copy(&mut connection.reader(), &mut io::sink());
        match connection.complete_io(wire) {
            Ok((0, _)) => return Ok(()),
            Ok(_) => {}
            Err(error) if matches!(of_tls(&error), Some(Error::AlertReceived(_))) => return Err(error),
            Err(_) => return Ok(()),
        }
    }
}

fn of_tls(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn refusal(error: &io::Error, asks_for_certificate: bool, name: &str) -> Refusal {
    match (of_tls(error), error.kind()) {
        (
            Some(
                Error::AlertReceived(AlertDescription::ProtocolVersion)
                | Error::PeerIncompatible(
                    PeerIncompatible::ServerDoesNotSupportTls12Or13
                    | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
                ),
            ),
            _,
        ) => Refusal::new(
            "tls_too_old",
            "the server speaks no TLS from version 1.2 on",
            "kube-apiserver wants TLS 1.2 or 1.3: raise the server's newest version",
            "remote error: tls: protocol version not supported",
        ),
        (Some(Error::AlertReceived(alert)), _) => alerted(*alert, asks_for_certificate, name),
        (Some(Error::InvalidCertificate(CertificateError::BadSignature)), _) => Refusal::new(
            "signature",
            "the server does not hold the key of the certificate that it presents",
            "certificate and key belong to different pairs: install both of one pair",
            "tls: invalid signature by the server certificate",
        ),
        (Some(error), _) => Refusal::new(
            "other",
            format!("the handshake failed: {error}"),
            "the server's log may say more",
            "",
        ),
        (None, ErrorKind::TimedOut | ErrorKind::WouldBlock) => Refusal::new(
            "broken",
            "the server accepted the connection and sent nothing",
            "it may be overloaded, or not speak TLS on this port",
            "net/http: TLS handshake timeout",
        ),
        (None, ErrorKind::UnexpectedEof) => Refusal::new(
            "broken",
            "the server hung up during the handshake",
            "its log may say why; a server without a certificate does that too",
            "EOF",
        ),
        (None, _) => Refusal::new(
            "broken",
            format!("the connection broke during the handshake: {error}"),
            "the server's log may say why",
            "",
        ),
    }
}

fn alerted(alert: AlertDescription, asks_for_certificate: bool, name: &str) -> Refusal {
    use AlertDescription as Alert;

    let no_common_suite =
        "client and server have no version, cipher suite or signature algorithm of TLS in common".to_owned();
    let no_certificate_yet = "the server gave up the handshake: it may have no certificate yet".to_owned();
    let check_readiness = "look whether it is ready, and into its log";
    let alert_received = format!("the server ended the handshake with the alert {alert:?}");
    let see_log = "the server's log may say why";
    let (words_of_go, message, advice) = match alert {
        Alert::CertificateRequired => ("certificate required", alert_received, see_log),
        Alert::BadCertificate => ("bad certificate", alert_received, see_log),
        Alert::HandshakeFailure => (
            "handshake failure",
            no_common_suite,
            "compare cipher suites and key types; some servers answer so when they have no certificate",
        ),
        Alert::NoApplicationProtocol => (
            "no application protocol",
            "the server does not want HTTP/1.1".to_owned(),
            "webhooks behind a Service are called by HTTP/1.1 only: let the server's ALPN offer http/1.1",
        ),
        Alert::UnrecognisedName => (
            "unrecognized name",
            format!("the server knows nothing of the name {name}"),
            "compare its virtual hosts with the name of the Service",
        ),
        Alert::AccessDenied => ("access denied", no_certificate_yet, check_readiness),
        Alert::InternalError => ("internal error", no_certificate_yet, check_readiness),
        _ => ("", alert_received, see_log),
    };
    let go = if words_of_go.is_empty() { String::new() } else { format!("remote error: tls: {words_of_go}") };
    let is_about_certificates = matches!(
        alert,
        Alert::CertificateRequired | Alert::BadCertificate | Alert::NoCertificate | Alert::HandshakeFailure
    );
    if asks_for_certificate && is_about_certificates {
        return Refusal::new(
            "client_certificate",
            "the server insists on a client certificate",
            "kube-apiserver has none unless its AdmissionConfiguration names a kubeconfig: make it optional in the server",
            &go,
        );
    }
    Refusal::new("alert", message, advice, &go)
}

/// A socket with one deadline for everything.
struct Wire {
    stream: TcpStream,
    deadline: Instant,
    /// The bytes of the first read.
    first_bytes: Vec<u8>,
}

impl Wire {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    /// The refusal of a server whose first record is neither a handshake nor an alert.
    fn no_tls(&self) -> Option<Refusal> {
        const HANDSHAKE: u8 = 22;
        const ALERT: u8 = 21;
        match self.first_bytes.first() {
            None | Some(&(HANDSHAKE | ALERT)) => None,
            Some(_) if self.first_bytes.starts_with(b"HTTP") => Some(Refusal::new(
                "not_tls",
                "the server speaks HTTP without TLS on this port",
                "is it the port for probes and metrics? The webhook's port must speak HTTPS",
                "http: server gave HTTP response to HTTPS client",
            )),
            Some(_) => Some(Refusal::new(
                "not_tls",
                "the server does not send TLS",
                "is it the right port?",
                "tls: first record does not look like a TLS handshake",
            )),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        let count = self.stream.read(buffer)?;
        if self.first_bytes.is_empty() {
            self.first_bytes.extend(buffer.iter().take(count.min(5)));
        }
        Ok(count)
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
