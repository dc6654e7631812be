//! Certificates of the API server and of recorders.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::error::Error;

/// A certificate and its CA, as PEM.
pub(crate) struct Certificate {
    pub(crate) authority: String,
    pub(crate) leaf: String,
    pub(crate) key: KeyPair,
}

impl Certificate {
    /// For a server with `names`: DNS names and IP addresses.
    pub(crate) fn for_names(names: &[String]) -> Result<Self, Error> {
        Self::sign(&leaf(names)?)
    }

    /// For the client `name`.
    pub(crate) fn for_client(name: &str) -> Result<Self, Error> {
        let mut params = leaf(&[])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Self::sign(&params)
    }

    fn sign(params: &CertificateParams) -> Result<Self, Error> {
        let (authority, key) = (authority()?, KeyPair::generate()?);
        let leaf = params.clone().signed_by(&key, &authority)?.pem();
        Ok(Self { authority: authority.pem(), leaf, key })
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
