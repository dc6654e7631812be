//! Inspects a CA ring on a cluster: the Secret, and the bundles in the configurations. The command `certs` calls it; a running
//! replica has its [`Status`](crate::Status).

mod cluster;
mod registration;
mod report;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Secret;
use vestibule_pki::describe;
use vestibule_pki::ring::{AuthorityFacts, AuthorityState, Facts, Moment, Reading, Ring};
use zeroize::Zeroizing;

pub(crate) use cluster::Cluster;
pub use cluster::InspectError;
pub use report::{AuthorityReport, EntryReport, InspectReport, RegistrationReport, RingReport, RingState};

use crate::ring_annotations::requests;
use crate::time::unix_time;
use crate::{NamespacedName, RegistrationName, Role};

/// The objects to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The ring's Secret.
    pub secret: NamespacedName,
    /// Only entries that call this Service are looked at; without it, all entries.
    pub service: Option<NamespacedName>,
    /// The configurations. Without any, the ones with the ring's annotations are listed.
    pub registrations: Vec<RegistrationName>,
}

impl Inspection {
    /// Every configuration with the annotations of the ring in this Secret.
    #[must_use]
    pub fn new(secret: NamespacedName) -> Self {
        Self { secret, service: None, registrations: Vec::new() }
    }

    /// Reads the Secret and the configurations. Needs `get` on each; `list` where configurations are looked for.
    ///
    /// # Errors
    /// The cluster cannot be reached, or a right is missing.
    pub async fn run(&self, client: kube::Client, now: SystemTime) -> Result<InspectReport, InspectError> {
        let cluster = Cluster::new(client);
        let reading = cluster.secret(&self.secret).await?.map_or(Reading::Absent, |secret| read(secret, now));
        let facts = reading.facts();
        let facts = facts.facts();
        let mut notes = Vec::new();
        let names = match (self.registrations.is_empty(), facts) {
            (true, Some(facts)) => cluster.marked(facts.lineage, &mut notes).await?,
            _ => self.registrations.clone(),
        };
        let mut registrations = Vec::new();
        for name in names {
            let object = cluster.registration(&name).await?;
            registrations.push(registration::report(name, object.as_ref(), self.service.as_ref(), facts));
        }
        let bundle = reading.ring().map(Ring::bundle_pem).unwrap_or_default();
        let (secret, ring) = (self.secret.clone(), ring_report(&reading));
        Ok(InspectReport { secret, ring, bundle, registrations, notes })
    }
}

/// The ring in a Secret. Its keys are erased with it.
pub(crate) fn read(mut secret: Secret, now: SystemTime) -> Reading {
    let requests = requests(&secret.metadata);
    let data = secret.data.take().unwrap_or_default();
    let data: BTreeMap<_, _> =
        data.into_iter().map(|(field, bytes)| (field, Zeroizing::new(bytes.0))).collect();
    Ring::read(Some(&data), requests, Moment(unix_time(now).as_secs()))
}

fn ring_report(reading: &Reading) -> RingState {
    match reading {
        Reading::Absent => RingState::Absent,
        Reading::Unreadable(error) => RingState::Unreadable(error.to_string()),
        Reading::Newer(ring) => RingState::Newer(ring.as_deref().map(known)),
        Reading::Known(ring) => RingState::Known(known(ring)),
    }
}

fn known(ring: &Ring) -> RingReport {
    let facts = ring.facts();
    RingReport {
        lineage: lineage(facts),
        generation: facts.generation,
        due: time(facts.due),
        rotation_asked: facts.rotation.is_open(),
        revocation_asked: facts.revocation.is_open(),
        authorities: facts.authorities.iter().map(|ca| authority(ring, ca)).collect(),
    }
}

fn authority(ring: &Ring, ca: &AuthorityFacts) -> AuthorityReport {
    let (role, until) = match ca.state {
        AuthorityState::Next => (Role::Next, None),
        AuthorityState::Active => (Role::Active, None),
        AuthorityState::Retired { until } => (Role::Retired, Some(until)),
        AuthorityState::Foreign { until } => (Role::Foreign, Some(until)),
    };
    let facts = ring.certificate(ca.id).and_then(describe);
    AuthorityReport {
        id: ca.id.to_string(),
        role,
        subject: facts.map(|facts| facts.subject).unwrap_or_default(),
        not_after: time(ca.not_after),
        held_since: ca.held.map(time),
        trusted_until: until.map(time),
        crossed_by: ca.cross_signature.map(|cross_signature| cross_signature.issuer.to_string()),
    }
}

fn lineage(facts: &Facts) -> String {
    format!("{:016x}", facts.lineage.0)
}

fn time(moment: Moment) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(moment.0)
}
