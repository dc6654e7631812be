//! Certificates of clients, good and bad.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs;
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{ClientConfig, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Issues certificates to clients.
pub(super) struct Issuer(CertifiedIssuer<'static, KeyPair>);

/// The credentials of a client: none, or a chain and a key, which may not match.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: Option<Arc<dyn SigningKey>>,
}

impl Issuer {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn certificate(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A client whose common name is `name`.
    pub(super) fn client(&self, name: &str) -> Shown {
        self.issue(name, |_| {})
    }

    /// A client with `name` as a URI, beside an unknown common name.
    pub(super) fn client_by_alternative(&self, name: &str) -> Shown {
        let uri = rcgen::SanType::URI(name.try_into().unwrap());
        self.issue("no-name", |params| params.subject_alt_names = vec![uri])
    }

    pub(super) fn client_until(&self, name: &str, year: i32) -> Shown {
        self.issue(name, |params| params.not_after = date_time_ymd(year, 1, 1))
    }

    pub(super) fn client_from(&self, name: &str, year: i32) -> Shown {
        self.issue(name, |params| params.not_before = date_time_ymd(year, 1, 1))
    }

    /// Of no use to clients.
    pub(super) fn server(&self, name: &str) -> Shown {
        let usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(name, |params| params.extended_key_usages = usages)
    }

    fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Shown {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let chain = vec![params.signed_by(&key, &self.0).unwrap().der().clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Shown { chain, key: Some(aws_lc_rs::sign::any_supported_type(&key).unwrap()) }
    }
}

/// A client that shows `shown` without a look at it.
pub(super) fn shown_by(
    shown: &Shown,
    roots: RootCertStore,
    version: &'static SupportedProtocolVersion,
) -> ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    builder.with_root_certificates(roots).with_client_cert_resolver(Arc::new(shown.clone()))
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::new(CertifiedKey::new(self.chain.clone(), Arc::clone(self.key.as_ref()?))))
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}
