//! The certificates of all servers: one CA, and a leaf of each kind of key.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};
use rustls::crypto::aws_lc_rs::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// The name that the certificates are for.
pub(crate) const NAME: &str = "bench.default.svc";

/// The key of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    P256,
    Rsa2048,
}

impl Key {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::Rsa2048 => "RSA-2048",
        }
    }
}

/// A folder for each key, with `tls.crt`, `tls.key` and `ca.crt`.
pub(crate) struct Certificates {
    folder: PathBuf,
    authority: CertificateDer<'static>,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A leaf that is made and not yet in its folder.
pub(crate) struct Leaf {
    folder: PathBuf,
    files: [(&'static str, String); 3],
}

impl Certificates {
    /// Makes the CA and a leaf of each key below `folder`.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "bench");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)?;
        let authority = issuer.der().clone();
        let certificates = Self { folder: folder.to_owned(), authority, issuer };
        for key in [Key::P256, Key::Rsa2048] {
            fs::create_dir_all(certificates.folder(key))?;
            certificates.issue(key)?.install()?;
        }
        Ok(certificates)
    }

    /// The folder of the leaf.
    pub(crate) fn folder(&self, key: Key) -> PathBuf {
        self.folder.join(key.name())
    }

    /// A leaf with a new key.
    pub(crate) fn issue(&self, key: Key) -> anyhow::Result<Leaf> {
        let pair = match key {
            Key::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?,
            Key::Rsa2048 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?,
        };
        let mut params = CertificateParams::new([NAME.to_owned()])?;
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        let leaf = params.signed_by(&pair, &self.issuer)?;
        let files =
            [("tls.crt", leaf.pem()), ("tls.key", pair.serialize_pem()), ("ca.crt", self.issuer.pem())];
        Ok(Leaf { folder: self.folder(key), files })
    }

    /// A client as kube-apiserver: TLS 1.3, HTTP/1.1, no resumption of sessions.
    pub(crate) fn client(&self) -> anyhow::Result<Arc<ClientConfig>> {
        client(self.authority.clone(), aws_lc_rs::default_provider())
    }

    /// The same client without the hybrid key exchange.
    pub(crate) fn classic_client(&self) -> anyhow::Result<Arc<ClientConfig>> {
        let kx_groups = vec![aws_lc_rs::kx_group::X25519];
        client(self.authority.clone(), CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() })
    }

    /// A client that trusts the CA in this file.
    pub(crate) fn client_of(&self, file: &Path) -> anyhow::Result<Arc<ClientConfig>> {
        let authority =
            CertificateDer::from_pem_file(file).with_context(|| format!("no CA in {}", file.display()))?;
        client(authority, aws_lc_rs::default_provider())
    }
}

impl Leaf {
    /// Replaces the leaf in its folder, by renames.
    pub(crate) fn install(self) -> anyhow::Result<()> {
        for (name, text) in self.files {
            let (file, new) = (self.folder.join(name), self.folder.join(format!(".{name}.new")));
            fs::write(&new, text)
                .and_then(|()| fs::rename(&new, &file))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }
}

fn client(authority: CertificateDer<'static>, provider: CryptoProvider) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(authority)?;
    // Go's order on processors with instructions for AES; rustls has AES-256 with SHA-384 first.
    let cipher_suites =
        vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    let provider = CryptoProvider { cipher_suites, ..provider };
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
