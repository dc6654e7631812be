//! A CA of our own and what it signs.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer,
    KeyIdMethod, KeyPair, KeyUsagePurpose, NameConstraints, SanType,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::algorithm::Algorithm;
use crate::certificate::Certificate;
use crate::{AuthorityError, Leaf, bundle, key, verify};

/// How long before "now" a certificate begins to be valid: clocks of a cluster differ.
pub(crate) const BACKDATED: Duration = Duration::from_secs(60 * 60);

/// A certificate authority: a self-signed certificate and its key. No `Debug`: it holds a key, which is erased when
/// dropped.
pub struct Authority {
    certificate_pem: String,
    params: CertificateParams,
    key: Zeroizing<KeyPair>,
    not_after: UnixTime,
}

impl Authority {
    /// A new CA with a P-256 key, valid from an hour before `now` until `life` after it.
    ///
    /// # Errors
    /// A validity outside what certificates can hold.
    pub fn new(common_name: &str, now: UnixTime, life: Duration) -> Result<Self, AuthorityError> {
        let validity = (earlier(now), later(now, life));
        let authority = Self::make(common_name, Algorithm::default(), validity, |_| {})?;
        // A CA that cannot sign an acceptable leaf is never handed out.
        authority.issue(&["localhost"], now, life)?;
        Ok(authority)
    }

    /// The form that all our CAs have; `shape` may add to it.
    pub(crate) fn make(
        common_name: &str,
        algorithm: Algorithm,
        (not_before, not_after): (UnixTime, UnixTime),
        shape: impl FnOnce(&mut CertificateParams),
    ) -> Result<Self, AuthorityError> {
        let key = algorithm.generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, common_name);
        // One CA below it, so that a successor can be cross-signed (RFC 5280 4.2.1.9).
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params.not_before, params.not_after) = (date(not_before)?, date(not_after)?);
        shape(&mut params);
        let certificate = params.self_signed(&*key).map_err(signing)?;
        let certificate_pem = bundle::pem(certificate.der());
        Ok(Self { certificate_pem, params, key, not_after })
    }

    /// The cross certificate of a successor: its name and key, signed by this CA. No CA may stand below it.
    pub(crate) fn cross(
        &self,
        successor: &Self,
        not_before: UnixTime,
    ) -> Result<CertificateDer<'static>, AuthorityError> {
        let mut params = successor.params.clone();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.use_authority_key_identifier_extension = true;
        params.serial_number = None;
        let not_after = self.not_after.min(successor.not_after);
        (params.not_before, params.not_after) = (date(not_before)?, date(not_after)?);
        let issuer = Issuer::from_params(&self.params, &*self.key);
        Ok(params.signed_by(&*successor.key, &issuer).map_err(signing)?.der().clone())
    }

    /// The CA of an earlier day. Dates are not looked at: [`issue`](Self::issue) does.
    ///
    /// # Errors
    /// Text that cannot be read, a key of another certificate, a subject that cannot be signed under.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        let der = match bundle::certificates(certificate).as_deref() {
            Ok([der]) => der.clone(),
            _ => return Err(AuthorityError::Certificate),
        };
        let stored = Certificate::read(&der).ok_or(AuthorityError::Certificate)?;
        let key = key::read(key).and_then(|key| key::pair(&key)).ok_or(AuthorityError::Key)?;

        let mut params = CertificateParams::default();
        params.distinguished_name = stored.distinguished_name().ok_or(AuthorityError::Subject)?;
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        if let Some(identifier) = stored.key_identifier() {
            params.key_identifier_method = KeyIdMethod::PreSpecified(identifier);
        }
        params.name_constraints = constraints(&stored.domains());
        // A certificate made of the same parts shows whether they are the same parts.
        let twin = params.self_signed(&*key).map_err(signing)?;
        let twin = Certificate::read(twin.der()).ok_or(AuthorityError::Certificate)?;
        if twin.public_key() != stored.public_key() {
            return Err(AuthorityError::Mismatch);
        }
        if twin.subject() != stored.subject() {
            return Err(AuthorityError::Subject);
        }
        Ok(Self {
            certificate_pem: format!("{}\n", certificate.trim_end()),
            params,
            key,
            not_after: stored.not_after(),
        })
    }

    /// The certificate in PEM, ending in a line break: a `caBundle`.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub(crate) fn certificate_der(&self) -> Result<CertificateDer<'static>, AuthorityError> {
        CertificateDer::from_pem_slice(self.certificate_pem.as_bytes())
            .map_err(|_| AuthorityError::Certificate)
    }

    /// The key as PKCS#8 in PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        key::pem(self.key.serialized_der())
    }

    /// The last second of the CA's validity; no leaf outlives it.
    pub fn not_after(&self) -> UnixTime {
        self.not_after
    }

    /// Signs a serving certificate for DNS names and IP addresses, with a new key of the CA's
    /// algorithm (P-256 below a CA that is not ECDSA): `serverAuth`, no CA, valid
    /// from an hour before `now` until `life` after it or until the CA ends. It is verified before it is handed out.
    ///
    /// # Errors
    /// No names, a name that is none, a CA that has expired or that clients would refuse for another reason.
    pub fn issue(
        &self,
        names: &[impl AsRef<str>],
        now: UnixTime,
        life: Duration,
    ) -> Result<Leaf, AuthorityError> {
        self.issue_with(names, now, later(now, life), None)
    }

    /// The same until a moment, with the CA's cross certificate in the chain if it has one.
    pub(crate) fn issue_with(
        &self,
        names: &[impl AsRef<str>],
        now: UnixTime,
        not_after: UnixTime,
        cross: Option<&CertificateDer<'static>>,
    ) -> Result<Leaf, AuthorityError> {
        let key = Algorithm::below(&self.key).generate()?;
        let (not_before, not_after) = (earlier(now), not_after.min(self.not_after));
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "vestibule serving certificate");
        params.subject_alt_names = subject_alternative_names(names)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        (params.not_before, params.not_after) = (date(not_before)?, date(not_after)?);
        // The serial number is left to rcgen: a digest of the new public key, as unique and as hard to guess as the key.
        let certificate =
            params.signed_by(&*key, &Issuer::from_params(&self.params, &*self.key)).map_err(signing)?;

        let chain: Vec<_> = [certificate.der()].into_iter().chain(cross).cloned().collect();
        verify(&self.certificate_pem, &chain, names, now)?;
        Ok(Leaf {
            chain,
            key: Zeroizing::new(PrivatePkcs8KeyDer::from(key.serialize_der()).into()),
            not_before,
            not_after,
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
        })
    }
}

/// A CA confined to domains; to none, if none is given.
pub(crate) fn constraints(domains: &[String]) -> Option<NameConstraints> {
    let permitted_subtrees: Vec<_> = domains.iter().cloned().map(GeneralSubtree::DnsName).collect();
    (!permitted_subtrees.is_empty())
        .then_some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() })
}

fn subject_alternative_names(names: &[impl AsRef<str>]) -> Result<Vec<SanType>, AuthorityError> {
    if names.is_empty() {
        return Err(AuthorityError::NoNames);
    }
    let invalid = |name: &str| AuthorityError::Name { name: name.to_owned() };
    let alternative_name = |name: &str| match ServerName::try_from(name) {
        Ok(ServerName::IpAddress(address)) => Ok(SanType::IpAddress(address.into())),
        Ok(ServerName::DnsName(_)) => name.try_into().map(SanType::DnsName).map_err(|_| invalid(name)),
        _ => Err(invalid(name)),
    };
    names.iter().map(|name| alternative_name(name.as_ref())).collect()
}

pub(crate) fn earlier(now: UnixTime) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()).saturating_sub(BACKDATED))
}

fn later(now: UnixTime, life: Duration) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()).saturating_add(life))
}

fn date(time: UnixTime) -> Result<OffsetDateTime, AuthorityError> {
    let seconds = i64::try_from(time.as_secs()).map_err(|_| AuthorityError::Time)?;
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| AuthorityError::Time)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
fn signing(error: rcgen::Error) -> AuthorityError {
    AuthorityError::Signing(error.to_string())
}
