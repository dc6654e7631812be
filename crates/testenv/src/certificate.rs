//! Certificates of the API server and of recorders.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::error::Error;

/// A serving certificate and its CA, as PEM.
pub(crate) struct Certificate {
    pub(crate) authority: String,
    pub(crate) leaf: String,
    pub(crate) key: KeyPair,
}

impl Certificate {
    /// For a server with `names`: DNS names and IP addresses.
    pub(crate) fn for_names(names: &[String]) -> Result<Self, Error> {
        let authority = authority()?;
        let key = KeyPair::generate()?;
        let leaf = leaf(names)?.signed_by(&key, &authority)?.pem();
        Ok(Self { authority: authority.pem(), leaf, key })
    }
}

/// A client certificate and its CA, as PEM.
pub(crate) struct ClientCertificate {
    pub(crate) authority: String,
    pub(crate) leaf: String,
    pub(crate) key: String,
}

impl ClientCertificate {
    /// For the client `name`.
    pub(crate) fn generate(name: &str) -> Result<Self, Error> {
        let authority = authority()?;
        let key = KeyPair::generate()?;
        let mut params = leaf(&[])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let leaf = params.signed_by(&key, &authority)?.pem();
        Ok(Self { authority: authority.pem(), leaf, key: key.serialize_pem() })
    }
}

/// The key pair that signs ServiceAccount tokens, as PEM.
pub(crate) struct TokenKey {
    pub(crate) private: String,
    pub(crate) public: String,
}

impl TokenKey {
    pub(crate) fn generate() -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        Ok(Self { private: key.serialize_pem(), public: key.public_key_pem() })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "testenv");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn leaf(names: &[String]) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "testenv server");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}
