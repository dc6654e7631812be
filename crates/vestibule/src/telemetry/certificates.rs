//! The metrics of certificates.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use vestibule_identity::{Identity, IdentityEvent, RegistrationName};

use super::scrape::{Scrape, at_each_scrape};

/// Why a rotation that is due does not happen: see [`Status::blocked`](vestibule_identity::Status::blocked).
const BLOCKED_BY: [&str; 5] = ["hold", "clock", "denied", "newer_schema", "ring_write"];

/// Counts the events of an identity, for the metrics of the app that presents its certificate: one clone is the identity's
/// observer, another is in [`Options`](crate::Options).
#[derive(Clone, Default)]
pub struct CertificateCounters {
    /// By `result`.
    rotations: Family<[(&'static str, &'static str); 1], Counter>,
    /// By `kind` and `name`.
    repairs: Family<[(&'static str, String); 2], Counter>,
    discontinuities: Counter,
    observer: Option<Arc<dyn vestibule_identity::Observer>>,
}

impl CertificateCounters {
    /// Also calls `observer` with each event.
    #[must_use]
    pub fn with_observer(observer: Arc<dyn vestibule_identity::Observer>) -> Self {
        Self { observer: Some(observer), ..Self::default() }
    }

    /// Registers these counters, and gauges that are read from `identity`.
    pub(crate) fn register(&self, registry: &mut Registry, identity: Arc<dyn Identity>) {
        registry.register(
            "vestibule_certificate_rotations",
            "Leaves renewed and ring states written by this replica, and attempts that failed",
            self.rotations.clone(),
        );
        registry.register(
            "vestibule_cabundle_repairs",
            "Times this replica wrote a caBundle again that another writer had changed",
            self.repairs.clone(),
        );
        registry.register(
            "vestibule_ring_discontinuities",
            "Times the CA ring was found rolled back, replaced or deleted",
            self.discontinuities.clone(),
        );
        at_each_scrape(registry, move |scrape| write(&*identity, scrape));
    }

    fn rotated(&self, result: &'static str) {
        self.rotations.get_or_create(&[("result", result)]).inc();
    }
}

impl vestibule_identity::Observer for CertificateCounters {
    fn happened(&self, event: &IdentityEvent) {
        match event {
            IdentityEvent::LeafRenewed { .. } => self.rotated("renewed"),
            IdentityEvent::RingWritten { change } => self.rotated(change),
            IdentityEvent::Failed { .. } => self.rotated("failed"),
            IdentityEvent::BundleWritten { registration, repaired_from: Some(_) } => {
                let RegistrationName { kind, name } = registration;
                let labels = [("kind", kind.as_str().to_owned()), ("name", name.clone())];
                self.repairs.get_or_create(&labels).inc();
            }
            IdentityEvent::Discontinuity => {
                self.discontinuities.inc();
            }
            _ => {}
        }
        if let Some(observer) = &self.observer {
            observer.happened(event);
        }
    }
}

fn write(identity: &dyn Identity, scrape: &mut Scrape<'_>) -> fmt::Result {
    let status = identity.status();
    let leaf = identity.present();
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
    let in_role = |(role, seconds): (_, u64)| ([("role", role)], seconds as f64);
    let in_sync = status.registrations.iter().map(|it| {
        let RegistrationName { kind, name } = &it.registration;
        ([("kind", kind.as_str()), ("name", name)], f64::from(u8::from(it.in_sync)))
    });
    let blocked =
        BLOCKED_BY.map(|reason| ([("reason", reason)], f64::from(u8::from(status.blocked == Some(reason)))));
    let seconds = Some(&Unit::Seconds);
    let help = "The end of a certificate, of several in one role the first, in Unix time";
    scrape.gauges("vestibule_certificate_not_after", seconds, help, ends.into_iter().map(in_role))?;
    let help = "The begin of the serving certificate, in Unix time";
    scrape.gauges("vestibule_certificate_not_before", seconds, help, begin.map(in_role))?;
    let generation = status.generation.map(|generation| generation as f64);
    scrape.gauge("vestibule_ca_generation", None, "The generation of the CA ring", generation)?;
    let help = "How long ago the CA ring was last read";
    let read_ago = status.ring_read_ago.map(|ago| ago.as_secs_f64());
    scrape.gauge("vestibule_ring_read_age", seconds, help, read_ago)?;
    let help = "Whether a caBundle was right when it was last read";
    scrape.gauges("vestibule_cabundle_in_sync", None, help, in_sync)?;
    let help = "Whether a rotation is due and does not happen";
    scrape.gauges("vestibule_rotation_blocked", None, help, blocked)?;
    let help = "How far the API server's clock is ahead of the replica's";
    scrape.gauge("vestibule_clock_skew", seconds, help, status.clock_skew as f64)
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
