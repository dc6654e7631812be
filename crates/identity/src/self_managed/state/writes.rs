//! The writes of the Secret and of the bundles, before they are sent.

use std::net::IpAddr;
use std::time::Instant;

use vestibule_pki::ring::{Change, KeySource, Moment, Ring, RingError, RingFacts, carry_out};

use super::{Operation, RingWrite, State};
use crate::Settings;
use crate::self_managed::api_client::Purpose;
use crate::self_managed::bundle_patch::bundle_patch;
use crate::self_managed::notices::About;
use crate::self_managed::registration::ConfigSnapshot;

impl State {
    pub(super) fn prepare_ring(&mut self, change: Change, now: Moment, at: Instant) -> Option<Operation> {
        if self.secret.is_immutable() {
            self.writing.refused(at);
            let text = format!(
                "Secret {0} is immutable and cannot take the ring: delete it, or name another one (kubectl delete secret \
                 {1} -n {2})",
                self.secret_name, self.secret_name.name, self.secret_name.namespace
            );
            self.warn("SecretImmutable", text);
            return None;
        }
        let now = self.corrected(now);
        let base = if matches!(change, Change::Restore { .. }) { &self.remembered } else { &self.stored };
        let base = base.as_deref().map(|ring| copy(ring, now)).transpose();
        // An expired ring cannot be decoded; `keys` knows its certificates.
        let base = if matches!(change, Change::Create { .. }) { Ok(base.unwrap_or(None)) } else { base };
        let ring =
            base.and_then(|base| carry_out(&change, base, &mut self.keys(), now, &self.settings.policy));
        match ring {
            Ok(ring) => Some(self.write(Some(change), ring)),
            Err(error) => {
                self.writing.failed(at);
                self.is_stale = true;
                self.failed(About::Ring, None, format!("the ring cannot be changed: {error}"));
                None
            }
        }
    }

    /// Rewrites the Secret if only its `ca.crt` differs, because other programs read it.
    pub(super) fn repair_secret(&mut self, now: Moment, at: Instant) -> Option<Operation> {
        let may_write = self.ca_crt_differs && self.writing.allows(at) && self.repair_throttle.allows(at);
        let Some(RingFacts::Known(facts)) = &self.ring else { return None };
        if !may_write || self.secret.is_immutable() || self.seen.memory.as_ref() != Some(facts) {
            return None;
        }
        let ring = copy(self.stored.as_deref()?, self.corrected(now)).ok()?;
        Some(self.write(None, ring))
    }

    fn write(&self, change: Option<Change>, ring: Ring) -> Operation {
        let (object, creates) = (self.secret.with(&ring), self.secret.version().is_none());
        Operation::WriteRing(Box::new(RingWrite { change, ring, object, creates }))
    }

    pub(super) fn prepare_bundle(&mut self, position: usize, at: Instant) -> Option<Operation> {
        let mark = self.stored.as_ref()?.facts().mark();
        let held = &self.seen.configurations.get(position)?.bundle;
        let bundle = self.stored.as_ref()?.bundle_pem_over(|id| held.contains_key(&id));
        let watched = self.registrations.get_mut(position)?;
        let snapshot = watched.snapshot.as_ref()?;
        let patch = bundle_patch(snapshot, &bundle, mark);
        if patch.is_none() {
            watched.writing.failed(at);
        }
        let purpose = Purpose::Bundle { is_repair: watched.has_held(mark) };
        Some(Operation::Publish { position, patch: patch?, purpose })
    }

    /// All certificates that a change may need.
    fn keys(&self) -> KeySource {
        let mut keys =
            KeySource::new(&self.settings.organisation, &domains(&self.settings), self.settings.algorithm);
        keys.learn(self.past.iter().flat_map(|(_, certificates)| certificates.values().cloned()));
        keys.learn(
            self.registrations
                .iter()
                .filter_map(|watched| watched.snapshot.as_ref())
                .flat_map(ConfigSnapshot::certificates),
        );
        let remembered = self.remembered.iter().chain(&self.stored);
        keys.learn(remembered.flat_map(|ring| {
            ring.facts().trusted().into_iter().filter_map(|id| ring.certificate(id).cloned())
        }));
        keys.learn(self.issuer.clone());
        keys
    }
}

/// A copy for a change to consume. Keys can only be copied through the encoded form.
fn copy(ring: &Ring, now: Moment) -> Result<Ring, RingError> {
    let facts = ring.facts();
    Ring::decode(&ring.encode(), (facts.rotation.asked, facts.revocation.asked), now)
}

/// The domains that a new CA may sign for: the Service's namespace, so that a renamed Service needs no new CA, and the other
/// names.
fn domains(settings: &Settings) -> Vec<String> {
    let service = settings.service.iter().flat_map(|service| {
        let short = format!("{}.svc", service.namespace);
        let long = format!("{short}.{}", settings.cluster_domain);
        [short, long]
    });
    let names = settings.names.iter().filter(|name| name.parse::<IpAddr>().is_err());
    service.chain(names.map(|name| name.trim_start_matches("*.").to_owned())).collect()
}
