//! What metrics say about certificates.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use vestibule_identity::{Happening, Identity, RegistrationName};

/// Why a rotation that is due may not happen: see [`Status::blocked`](vestibule_identity::Status::blocked).
const REASONS: [&str; 5] = ["hold", "clock", "denied", "newer_schema", "ring_write"];

/// Counts what an identity does, for the metrics of the app that presents its certificate: one clone is the identity's
/// observer, another is in [`Options`](crate::Options).
#[derive(Clone, Default)]
pub struct CertificateCounters {
    rotations: Family<Rotated, Counter>,
    repairs: Family<Registered, Counter>,
    discontinuities: Counter,
    also: Option<Arc<dyn vestibule_identity::Observer>>,
}

/// Reads gauges from an identity whenever somebody asks for them.
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InRole {
    role: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Blocked {
    reason: &'static str,
}

impl CertificateCounters {
    /// Tells `also` everything too.
    #[must_use]
    pub fn telling(also: Arc<dyn vestibule_identity::Observer>) -> Self {
        Self { also: Some(also), ..Self::default() }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "certificate_rotations",
            "Leaves renewed and ring states written by this replica, and what failed of it",
            self.rotations.clone(),
        );
        registry.register(
            "cabundle_repairs",
            "Times this replica wrote a caBundle again that somebody else had changed",
            self.repairs.clone(),
        );
        registry.register(
            "ring_discontinuities",
            "Times the CA ring was found rolled back, replaced or deleted",
            self.discontinuities.clone(),
        );
    }

    fn rotated(&self, result: &'static str) {
        self.rotations.get_or_create(&Rotated { result }).inc();
    }
}

impl vestibule_identity::Observer for CertificateCounters {
    fn happened(&self, happening: &Happening) {
        match happening {
            Happening::LeafRenewed { .. } => self.rotated("renewed"),
            Happening::RingWritten { change } => self.rotated(change),
            Happening::Failed { .. } => self.rotated("failed"),
            Happening::BundleWritten { registration, repaired_from: Some(_) } => {
                self.repairs.get_or_create(&Registered::from(registration)).inc();
            }
            Happening::Discontinuity => {
                self.discontinuities.inc();
            }
            _ => {}
        }
        if let Some(also) = &self.also {
            also.happened(happening);
        }
    }
}

impl Collector for CertificateGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = self.0.status();
        let leaf = self.0.present();
        let leaf_end = match &leaf {
            Some(leaf) => Some(whole(leaf.not_after.as_secs())),
            None => status.leaf_not_after.map(unix_seconds),
        };
        let mut ends: BTreeMap<&str, i64> = leaf_end.map(|end| ("leaf", end)).into_iter().collect();
        for authority in &status.authorities {
            let end = unix_seconds(authority.not_after);
            ends.entry(authority.role.as_str()).and_modify(|first| *first = end.min(*first)).or_insert(end);
        }
        let begin = leaf.map(|leaf| ("leaf", whole(leaf.not_before.as_secs())));
        let in_role = |(role, seconds)| (InRole { role }, seconds);
        let in_sync = status.registrations.iter();
        let in_sync = in_sync.map(|it| (Registered::from(&it.registration), i64::from(it.in_sync)));
        let blocked = REASONS.map(|reason| (Blocked { reason }, i64::from(status.blocked == Some(reason))));

        let mut gauge = Gauge(&mut encoder);
        gauge.write(
            "certificate_not_after_seconds",
            "The end of a certificate, of several the first, in Unix time.",
            ends.into_iter().map(in_role),
        )?;
        gauge.write(
            "certificate_not_before_seconds",
            "The begin of the serving certificate, in Unix time.",
            begin.map(in_role),
        )?;
        if let Some(generation) = status.generation {
            gauge.write_one("ca_generation", "The generation of the CA ring.", whole(generation))?;
        }
        gauge.write("cabundle_in_sync", "Whether a caBundle was last seen as it should be.", in_sync)?;
        gauge.write("rotation_blocked", "Whether a rotation is due and does not happen.", blocked)?;
        let help = "How far the API server's clock is ahead of ours.";
        gauge.write_one("clock_skew_seconds", help, status.clock_skew)
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

struct Gauge<'e, 'w>(&'e mut DescriptorEncoder<'w>);

impl Gauge<'_, '_> {
    /// Writes nothing at all where there is no value.
    fn write<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, i64)>,
    ) -> fmt::Result {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        values.try_for_each(|(labels, value)| ConstGauge::new(value).encode(metric.encode_family(&labels)?))
    }

    fn write_one(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }
}

fn unix_seconds(time: SystemTime) -> i64 {
    whole(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
