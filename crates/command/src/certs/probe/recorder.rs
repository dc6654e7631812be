//! Records the certificates of a handshake and accepts all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Accepts every certificate and remembers it. For connections that carry nothing.
#[derive(Debug)]
pub(super) struct Recorder {
    recorded: Mutex<Recorded>,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) asks_for_certificate: bool,
}

impl Default for Recorder {
    fn default() -> Self {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        Self { recorded: Mutex::default(), algorithms }
    }
}

impl Recorder {
    pub(super) fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A certificate of an odd form (version 1, say) is not reason enough to know less about it. Signatures of RSA keys below
    /// 2048 bits cannot be verified here; Go verifies them.
    fn lenient(
        signed: &DigitallySignedStruct,
        outcome: Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        use SignatureScheme as Scheme;

        let is_rsa = matches!(
            signed.scheme,
            Scheme::RSA_PSS_SHA256
                | Scheme::RSA_PSS_SHA384
                | Scheme::RSA_PSS_SHA512
                | Scheme::RSA_PKCS1_SHA256
                | Scheme::RSA_PKCS1_SHA384
                | Scheme::RSA_PKCS1_SHA512
        );
        // A signature is as long as the RSA key.
        let is_short_rsa = is_rsa && signed.signature().len() < 2048 / 8;
        match outcome {
            Err(Error::InvalidCertificate(CertificateError::BadSignature)) if !is_short_rsa => outcome,
            _ => Ok(HandshakeSignatureValid::assertion()),
        }
    }
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = std::iter::once(leaf).chain(intermediates);
        self.lock().chain = chain.map(|der| der.clone().into_owned()).collect();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::lenient(signed, verify_tls12_signature(message, leaf, signed, &self.algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::lenient(signed, verify_tls13_signature(message, leaf, signed, &self.algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ResolvesClientCert for Recorder {
    fn resolve(&self, _issuers: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.lock().asks_for_certificate = true;
        None
    }

    /// Otherwise rustls does not ask.
    fn has_certs(&self) -> bool {
        true
    }
}
