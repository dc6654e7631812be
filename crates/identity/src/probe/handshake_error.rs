//! Why a handshake failed, in words.

use std::io::ErrorKind;

use rustls::AlertDescription;

use super::handshake::HandshakeError;
use super::refusal::{Cause, Refusal};

pub(super) fn refusal(error: HandshakeError, asked: bool, name: &str) -> Refusal {
    let (cause, message, advice, go) = match error {
        HandshakeError::Alert(alert) if asked && is_about_certificates(alert) => (
            Cause::ClientCertificate,
            "the server insists on a client certificate".to_owned(),
            "kube-apiserver has none unless its AdmissionConfiguration names a kubeconfig: make it optional in the server",
            alert_in_go(alert),
        ),
        HandshakeError::Alert(alert) => return alerted(alert, name),
        HandshakeError::Plain { http: true } => (
            Cause::NotTls,
            "the server speaks HTTP without TLS on this port".to_owned(),
            "is it the port for probes and metrics? The webhook's port must speak HTTPS",
            Some("http: server gave HTTP response to HTTPS client"),
        ),
        HandshakeError::Plain { http: false } => (
            Cause::NotTls,
            "what the server sends is no TLS".to_owned(),
            "is it the right port?",
            Some("tls: first record does not look like a TLS handshake"),
        ),
        HandshakeError::TooOld => (
            Cause::TlsTooOld,
            "the server speaks no TLS from version 1.2 on".to_owned(),
            "kube-apiserver wants TLS 1.2 or 1.3: raise the server's newest version",
            Some("remote error: tls: protocol version not supported"),
        ),
        HandshakeError::Signature => (
            Cause::Signature,
            "the server does not hold the key of the certificate that it presents".to_owned(),
            "certificate and key belong to different pairs: install both of one pair",
            Some("tls: invalid signature by the server certificate"),
        ),
        HandshakeError::Broken(error)
            if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) =>
        {
            (
                Cause::Broken,
                "the server took the connection and then said nothing".to_owned(),
                "it may be overloaded, or not speak TLS on this port",
                Some("net/http: TLS handshake timeout"),
            )
        }
        HandshakeError::Broken(error) if error.kind() == ErrorKind::UnexpectedEof => (
            Cause::Broken,
            "the server hung up during the handshake".to_owned(),
            "its log may say why; a server without a certificate does that too",
            Some("EOF"),
        ),
        HandshakeError::Broken(error) => (
            Cause::Broken,
            format!("the connection broke during the handshake: {error}"),
            "the server's log may say why",
            None,
        ),
        HandshakeError::Other(error) => {
            (Cause::Other, format!("the handshake failed: {error}"), "the server's log may say more", None)
        }
    };
    let refusal = Refusal::new(cause, message, advice);
    match go {
        Some(go) => refusal.in_go(go),
        None => refusal,
    }
}

fn alerted(alert: AlertDescription, name: &str) -> Refusal {
    let (message, advice) = match alert {
        AlertDescription::HandshakeFailure => (
            "client and server found no way of talking that both know".to_owned(),
            "compare cipher suites and key types; some servers answer so when they have no certificate",
        ),
        AlertDescription::NoApplicationProtocol => (
            "the server does not want HTTP/1.1".to_owned(),
            "webhooks behind a Service are called by HTTP/1.1 only: let the server's ALPN offer http/1.1",
        ),
        AlertDescription::UnrecognisedName => (
            format!("the server knows nothing of the name {name}"),
            "compare its virtual hosts with the name of the Service",
        ),
        AlertDescription::AccessDenied | AlertDescription::InternalError => (
            "the server gave up the handshake: it may have no certificate yet".to_owned(),
            "look whether it is ready, and into its log",
        ),
        other => (
            format!("the server ended the handshake with the alert {other:?}"),
            "the server's log may say why",
        ),
    };
    let refusal = Refusal::new(Cause::Alert, message, advice);
    match alert_in_go(alert) {
        Some(go) => refusal.in_go(go),
        None => refusal,
    }
}

fn is_about_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::NoCertificate
            | AlertDescription::HandshakeFailure
    )
}

fn alert_in_go(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CertificateRequired => "remote error: tls: certificate required",
        AlertDescription::BadCertificate => "remote error: tls: bad certificate",
        AlertDescription::HandshakeFailure => "remote error: tls: handshake failure",
        AlertDescription::NoApplicationProtocol => "remote error: tls: no application protocol",
        AlertDescription::UnrecognisedName => "remote error: tls: unrecognized name",
        AlertDescription::AccessDenied => "remote error: tls: access denied",
        AlertDescription::InternalError => "remote error: tls: internal error",
        _ => return None,
    })
}
