//! The source of new keys and known certificates.

use std::collections::BTreeMap;

use rcgen::{DnType, SerialNumber};
use rustls_pki_types::CertificateDer;

use crate::algorithm::Algorithm;
use crate::authority::{constraints, earlier};
use crate::ring::with_keys::{random, unix};
use crate::ring::{CaFactory, CaId, Lineage, Moment};
use crate::{Authority, AuthorityError, bundle};

/// Makes the CAs of a ring, and knows the certificates seen elsewhere. No `Debug`: it may hold keys.
pub struct KeySource {
    organisation: String,
    domains: Vec<String>,
    algorithm: Algorithm,
    known: BTreeMap<CaId, CertificateDer<'static>>,
    pub(super) made: BTreeMap<CaId, Authority>,
    pub(super) failure: Option<AuthorityError>,
}

impl KeySource {
    /// CAs of this organisation, which may sign for names within these domains only (`demo.svc`); without any, for all.
    /// This applies to CAs made from now on; CAs of a stored ring keep their names and constraints.
    #[must_use]
    pub fn new(organisation: &str, domains: &[impl AsRef<str>], algorithm: Algorithm) -> Self {
        Self {
            organisation: organisation.to_owned(),
            domains: domains.iter().map(|domain| domain.as_ref().to_owned()).collect(),
            algorithm,
            known: BTreeMap::new(),
            made: BTreeMap::new(),
            failure: None,
        }
    }

    /// Certificates found in bundles or remembered, for grafts. A certificate that a ring cannot hold is skipped.
    pub fn learn(&mut self, certificates: impl IntoIterator<Item = CertificateDer<'static>>) {
        let fitting = certificates.into_iter().filter(bundle::fits);
        self.known.extend(fitting.map(|certificate| (CaId::of(&certificate), certificate)));
    }

    pub(super) fn certificate(&self, id: CaId) -> Option<&CertificateDer<'static>> {
        self.known.get(&id)
    }

    fn make(&mut self, now: Moment, not_after: Moment) -> Result<CaId, AuthorityError> {
        // 127 bits: positive, and of one length.
        let mut serial = random::<16>()?;
        serial[0] = serial[0] & 0x7f | 0x40;
        let name: String = serial.iter().skip(1).take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{} CA {name}", self.organisation);
        let organisation = self.organisation.clone();
        let validity = (earlier(unix(now)), unix(not_after));
        let authority = Authority::make(&name, self.algorithm, validity, |params| {
            params.distinguished_name.push(DnType::OrganizationName, organisation);
            params.serial_number = Some(SerialNumber::from_slice(&serial));
            params.use_authority_key_identifier_extension = true;
            params.name_constraints = constraints(&self.domains);
        })?;
        let certificate = authority.certificate_der()?;
        let id = CaId::of(&certificate);
        self.learn([certificate]);
        self.made.insert(id, authority);
        Ok(id)
    }
}

impl CaFactory for KeySource {
    fn authority(&mut self, now: Moment, not_after: Moment) -> Option<CaId> {
        self.make(now, not_after).map_err(|error| self.failure = Some(error)).ok()
    }

    fn lineage(&mut self) -> Lineage {
        // Without random numbers no CA can be made, and no ring comes of it.
        Lineage(u64::from_be_bytes(random().unwrap_or_default()))
    }
}
