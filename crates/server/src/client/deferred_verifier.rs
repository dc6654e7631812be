//! Accepts each client certificate in the handshake; `peer` verifies it at each request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// The most bytes of a client's certificates, which are kept as long as the connection.
const MAX_CHAIN: usize = 16 << 10;

/// Whether the client of one connection has proved that it holds the key of its certificate.
#[derive(Default)]
pub(crate) struct Possession(AtomicBool);

impl Possession {
    pub(crate) fn is_proved(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Asks for a certificate, accepts each one, and notes whether the client holds its key. The verification is deferred to the
/// requests, whose answers can say what is wrong.
pub(crate) struct DeferredVerifier {
    algorithms: WebPkiSupportedAlgorithms,
    possession: Arc<Possession>,
}

impl DeferredVerifier {
    pub(crate) fn new(algorithms: WebPkiSupportedAlgorithms, possession: Arc<Possession>) -> Self {
        Self { algorithms, possession }
    }

    fn note(&self, signature: &Result<HandshakeSignatureValid, Error>) -> HandshakeSignatureValid {
        self.possession.0.store(signature.is_ok(), Ordering::Relaxed);
        HandshakeSignatureValid::assertion()
    }
}

impl ClientCertVerifier for DeferredVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// Sends no hints. A client that chooses its certificate by hints would send no certificate after the CAs were replaced.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let length = leaf.len() + intermediates.iter().map(|certificate| certificate.len()).sum::<usize>();
        if length > MAX_CHAIN {
            return Err(CertificateError::BadEncoding.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(self.note(&verify_tls12_signature(message, certificate, signature, &self.algorithms)))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(self.note(&verify_tls13_signature(message, certificate, signature, &self.algorithms)))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl fmt::Debug for DeferredVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DeferredVerifier")
    }
}
