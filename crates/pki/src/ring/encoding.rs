//! The ring as the data of a Secret.

mod description;

use std::collections::BTreeMap;

use rustls_pki_types::CertificateDer;
use zeroize::Zeroizing;

use self::description::{Description, Schema};
use crate::certificate::Certificate;
use crate::ring::with_keys::{moment, unix};
use crate::ring::{AuthorityFacts, AuthorityState, CaId, Moment, Problem, Reading, Request, Ring, RingError};
use crate::{Authority, AuthorityError, bundle};

const DESCRIPTION: &str = "ring.json";
const BUNDLE: &str = "ca.crt";
/// No field of a ring comes near; a Secret may hold 1 MiB.
const FIELD_LIMIT: usize = 256 * 1024;

impl Ring {
    /// The data of the ring's Secret. The same ring gives the same bytes.
    #[must_use]
    pub fn encode(&self) -> BTreeMap<String, Zeroizing<Vec<u8>>> {
        let text = |text: String| Zeroizing::new(text.into_bytes());
        let mut fields = BTreeMap::new();
        let description = serde_json::to_string(&Description::of(&self.facts)).unwrap_or_default();
        fields.insert(DESCRIPTION.to_owned(), text(description));
        fields.insert(BUNDLE.to_owned(), text(self.bundle_pem()));
        fields.extend(
            self.certificates.iter().map(|(id, der)| (certificate_field(*id), text(bundle::pem(der)))),
        );
        fields.extend(self.crosses.iter().map(|(id, der)| (cross_field(*id), text(bundle::pem(der)))));
        let key = |signer: &Authority| Zeroizing::new(signer.key_pem().as_bytes().to_vec());
        fields.extend(self.signers.iter().map(|(id, signer)| (key_field(*id), key(signer))));
        fields
    }

    /// Whether a field of this name is the ring's, or an earlier ring's. A write of the Secret removes the fields of earlier rings, and
    /// keeps the fields of others.
    #[must_use]
    pub fn is_field(name: &str) -> bool {
        let named = |prefix, suffix| name.strip_prefix(prefix).is_some_and(|id: &str| id.ends_with(suffix));
        [DESCRIPTION, BUNDLE].contains(&name)
            || named("ca-", ".crt")
            || named("ca-", ".key")
            || named("cross-", ".crt")
    }

    /// Reads the data of a Secret. `ca.crt` and unknown fields are ignored. The `requests` are those of the Secret's
    /// annotations ([`Request::digest`]): rotation, revocation. The clock must be the corrected one (rule C1): a CA of
    /// the future is refused.
    ///
    /// # Errors
    /// The first field that is not as it must be, or a newer schema. [`read`](Self::read) sorts them.
    pub fn decode<V: AsRef<[u8]>>(
        data: &BTreeMap<String, V>,
        requests: (u64, u64),
        now: Moment,
    ) -> Result<Self, RingError> {
        let schema = Schema::read(Fields(data).text(DESCRIPTION, Problem::Json)?, DESCRIPTION)?;
        match schema.newer() {
            Some(newer) => Err(newer),
            None => Self::decode_as(schema, data, requests, now),
        }
    }

    /// Reads the data of a Secret that any version may have written. Missing or empty data is
    /// [`Reading::Absent`]. See [`decode`](Self::decode) for the parameters.
    #[must_use]
    pub fn read<V: AsRef<[u8]>>(
        data: Option<&BTreeMap<String, V>>,
        requests: (u64, u64),
        now: Moment,
    ) -> Reading {
        let Some(data) = data.filter(|data| !data.is_empty()) else { return Reading::Absent };
        let schema = Fields(data).text(DESCRIPTION, Problem::Json);
        match schema.and_then(|text| Schema::read(text, DESCRIPTION)) {
            Err(error) => Reading::Unreadable(error),
            // An error here is no error to the newer version that wrote it.
            Ok(schema) if schema.newer().is_some() => {
                let ring = schema.is_readable().then(|| Self::decode_as(schema, data, requests, now).ok());
                Reading::Newer(ring.flatten().map(Box::new))
            }
            Ok(schema) => match Self::decode_as(schema, data, requests, now) {
                Ok(ring) => Reading::Known(Box::new(ring)),
                Err(error) => Reading::Unreadable(error),
            },
        }
    }

    fn decode_as<V: AsRef<[u8]>>(
        schema: Schema,
        data: &BTreeMap<String, V>,
        (rotation, revocation): (u64, u64),
        now: Moment,
    ) -> Result<Self, RingError> {
        let fields = Fields(data);
        let text = fields.text(DESCRIPTION, Problem::Json)?;
        let mut facts = Description::read(text, schema, DESCRIPTION)?;
        facts.rotation = Request { asked: rotation, ..facts.rotation };
        facts.revocation = Request { asked: revocation, ..facts.revocation };
        let (mut certificates, mut crosses) = (BTreeMap::new(), BTreeMap::new());
        let mut signers = BTreeMap::new();
        for ca in &mut facts.authorities {
            let certificate = fields.authority(ca, now)?;
            if ca.signs() {
                signers.insert(ca.id, fields.signer(ca.id, &certificate)?);
            }
            certificates.insert(ca.id, certificate);
        }
        for ca in &mut facts.authorities {
            if let Some(cross_signature) = &mut ca.cross_signature {
                let signer =
                    signers.get(&ca.id).ok_or_else(|| RingError::field(DESCRIPTION, Problem::States))?;
                let cross = fields.cross((ca.id, cross_signature.issuer), &certificates, signer)?;
                let read = Certificate::read(&cross);
                cross_signature.not_after =
                    read.map_or(cross_signature.not_after, |cross| moment(cross.not_after()));
                crosses.insert(ca.id, cross);
            }
        }
        Ok(Self { facts, certificates, crosses, signers })
    }
}

struct Fields<'a, V>(&'a BTreeMap<String, V>);

impl<'a, V: AsRef<[u8]>> Fields<'a, V> {
    fn text(&self, field: &str, problem: Problem) -> Result<&'a str, RingError> {
        let bytes = self.0.get(field).ok_or_else(|| RingError::field(field, Problem::Missing))?.as_ref();
        if bytes.len() > FIELD_LIMIT {
            return Err(RingError::field(field, Problem::TooLarge));
        }
        std::str::from_utf8(bytes).map_err(|_| RingError::field(field, problem))
    }

    fn certificate(&self, field: &str) -> Result<CertificateDer<'static>, RingError> {
        match bundle::certificates(self.text(field, Problem::Certificate)?).as_deref() {
            Ok([certificate]) => Ok(certificate.clone()),
            _ => Err(RingError::field(field, Problem::Certificate)),
        }
    }

    /// A CA's own certificate, which tells its end.
    fn authority(&self, ca: &mut AuthorityFacts, now: Moment) -> Result<CertificateDer<'static>, RingError> {
        let field = certificate_field(ca.id);
        let wrong = |problem| RingError::field(&field, problem);
        let certificate = self.certificate(&field)?;
        if CaId::of(&certificate) != ca.id {
            return Err(wrong(Problem::OtherCertificate));
        }
        let read = Certificate::read(&certificate).ok_or_else(|| wrong(Problem::Certificate))?;
        (ca.not_before, ca.not_after) = (moment(read.not_before()), moment(read.not_after()));
        if !ca.signs() {
            // Trusted only, as strangers wrote it: Go takes other things than CAs as an end of a chain, too.
            return Ok(certificate);
        }
        // A next CA has months to become valid: it signs nothing before.
        if ca.state == AuthorityState::Active && read.not_before() > unix(now) {
            return Err(wrong(Problem::NotYetValid));
        }
        if ca.state == AuthorityState::Active && ca.not_after <= now {
            return Err(wrong(Problem::Expired));
        }
        read.check_root(read.not_after()).map_err(|_| wrong(Problem::NotAnAuthority))?;
        Ok(certificate)
    }

    fn signer(&self, id: CaId, certificate: &CertificateDer<'_>) -> Result<Authority, RingError> {
        let field = key_field(id);
        let key = self.text(&field, Problem::Key)?;
        Authority::from_pem(&bundle::pem(certificate), key).map_err(|error| match error {
            AuthorityError::Key => RingError::field(field, Problem::Key),
            AuthorityError::Mismatch => RingError::field(field, Problem::OtherKey),
            _ => RingError::field(certificate_field(id), Problem::NotAnAuthority),
        })
    }

    fn cross(
        &self,
        (id, issuer): (CaId, CaId),
        certificates: &BTreeMap<CaId, CertificateDer<'static>>,
        signer: &Authority,
    ) -> Result<CertificateDer<'static>, RingError> {
        let field = cross_field(id);
        let cross = self.certificate(&field)?;
        let read = |der| Certificate::read(der).map(|read| (read.public_key(), read.subject()));
        let same = certificates.get(&id).and_then(read) == read(&cross);
        // If the issuer was removed since, no client needs the cross-signed certificate.
        let issued = certificates.get(&issuer).is_none_or(|issuer| verifies_through(signer, &cross, issuer));
        if same && issued { Ok(cross) } else { Err(RingError::field(field, Problem::CrossSignature)) }
    }
}

/// Whether a leaf of the signer verifies for a client that trusts the issuer alone, when the cross begins.
fn verifies_through(
    signer: &Authority,
    cross: &CertificateDer<'static>,
    issuer: &CertificateDer<'_>,
) -> bool {
    // Constraints are on DNS names.
    let name = ["127.0.0.1"];
    let Some(begin) = Certificate::read(cross).map(|cross| cross.not_before()) else { return false };
    let end = unix(moment(begin).plus(std::time::Duration::from_secs(60)));
    let leaf = signer.issue_with(&name, begin, end, Some(cross));
    leaf.is_ok_and(|leaf| crate::verify(&bundle::pem(issuer), &leaf.chain, &name, begin).is_ok())
}

fn certificate_field(id: CaId) -> String {
    format!("ca-{id}.crt")
}

fn key_field(id: CaId) -> String {
    format!("ca-{id}.key")
}

fn cross_field(id: CaId) -> String {
    format!("cross-{id}.crt")
}

#[cfg(test)]
mod tests;
