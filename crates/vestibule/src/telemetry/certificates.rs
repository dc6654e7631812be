//! The metrics of certificates.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use vestibule_identity::{Identity, IdentityEvent, RegistrationName};

use super::family::Sample;
use super::vocabulary::{
    BLOCKED, BLOCKED_BY, CLOCK_SKEW, DISCONTINUITIES, GENERATION, IN_SYNC, NOT_AFTER, NOT_BEFORE, REPAIRS,
    RING_READ, ROTATIONS,
};

/// Counts the events of an identity, for the metrics of the app that presents its certificate: one clone is the identity's
/// observer, another is in [`Options`](crate::Options).
#[derive(Clone, Default)]
pub struct CertificateCounters {
    rotations: Family<Rotated, Counter>,
    repairs: Family<Registered, Counter>,
    discontinuities: Counter,
    also: Option<Arc<dyn vestibule_identity::Observer>>,
}

/// Reads gauges from an identity at each scrape.
pub(super) struct CertificateGauges(pub(super) Arc<dyn Identity>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rotated {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Registered {
    kind: &'static str,
    name: String,
}

impl CertificateCounters {
    /// Also calls the observer `also`.
    #[must_use]
    pub fn telling(also: Arc<dyn vestibule_identity::Observer>) -> Self {
        Self { also: Some(also), ..Self::default() }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        ROTATIONS.register(registry, self.rotations.clone());
        REPAIRS.register(registry, self.repairs.clone());
        DISCONTINUITIES.register(registry, self.discontinuities.clone());
    }

    fn rotated(&self, result: &'static str) {
        self.rotations.get_or_create(&Rotated { result }).inc();
    }
}

impl vestibule_identity::Observer for CertificateCounters {
    fn happened(&self, event: &IdentityEvent) {
        match event {
            IdentityEvent::LeafRenewed { .. } => self.rotated("renewed"),
            IdentityEvent::RingWritten { change } => self.rotated(change),
            IdentityEvent::Failed { .. } => self.rotated("failed"),
            IdentityEvent::BundleWritten { registration, repaired_from: Some(_) } => {
                self.repairs.get_or_create(&Registered::from(registration)).inc();
            }
            IdentityEvent::Discontinuity => {
                self.discontinuities.inc();
            }
            _ => {}
        }
        if let Some(also) = &self.also {
            also.happened(event);
        }
    }
}

impl Collector for CertificateGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = self.0.status();
        let leaf = self.0.present();
        let leaf_end = match &leaf {
            Some(leaf) => Some(leaf.not_after.as_secs()),
            None => status.leaf_not_after.map(unix_seconds),
        };
        let mut ends: BTreeMap<&str, u64> = leaf_end.map(|end| ("leaf", end)).into_iter().collect();
        for authority in &status.authorities {
            let end = unix_seconds(authority.not_after);
            ends.entry(authority.role.as_str()).and_modify(|first| *first = end.min(*first)).or_insert(end);
        }
        let begin = leaf.map(|leaf| ("leaf", leaf.not_before.as_secs()));
        let in_role = |(role, seconds)| Sample::new(number(seconds)).label("role", role);
        let in_sync = status.registrations.iter().map(|it| {
            let RegistrationName { kind, name } = &it.registration;
            Sample::new(number(it.in_sync.into())).label("kind", kind.as_str()).label("name", name)
        });
        let blocked = BLOCKED_BY.map(|reason| {
            Sample::new(number((status.blocked == Some(reason)).into())).label("reason", reason)
        });

        NOT_AFTER.write(&mut encoder, ends.into_iter().map(in_role))?;
        NOT_BEFORE.write(&mut encoder, begin.map(in_role))?;
        GENERATION
            .write(&mut encoder, status.generation.map(|generation| Sample::new(number(generation))))?;
        let read_ago = status.ring_read_ago.map(|ago| Sample::new(ago.as_secs_f64()));
        RING_READ.write(&mut encoder, read_ago)?;
        IN_SYNC.write(&mut encoder, in_sync)?;
        BLOCKED.write(&mut encoder, blocked)?;
        CLOCK_SKEW.write(&mut encoder, [Sample::new(status.clock_skew as f64)])
    }
}

impl fmt::Debug for CertificateGauges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CertificateGauges")
    }
}

impl From<&RegistrationName> for Registered {
    fn from(registration: &RegistrationName) -> Self {
        Self { kind: registration.kind.as_str(), name: registration.name.clone() }
    }
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn number(whole: u64) -> f64 {
    whole as f64
}
