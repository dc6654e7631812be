//! Requests a rotation or revocation from the replicas of a ring, and waits until it is done.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use serde_json::json;
use vestibule_pki::ring::{CaId, Reading};

use crate::NamespacedName;
use crate::inspect::{Cluster, InspectError, read};
use crate::ring_annotations::{REVOKE, ROTATE};

/// The attempts when other programs write the Secret at the same time.
const ATTEMPTS: usize = 5;
const PERIOD: Duration = Duration::from_millis(500);

/// A command to the replicas of a ring, written as an annotation on its Secret; any replica carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingCommand {
    /// The next CA is to sign from now on, as soon as every API server knows it. No call fails.
    Rotate,
    /// The keys are lost or stolen: new CAs at once, and no trust in the present ones as soon as they are replaced.
    Revoke,
}

/// A command that was written and may not be done yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingCommand {
    /// The command.
    pub command: RingCommand,
    /// The ring's Secret.
    pub secret: NamespacedName,
    /// Whether the next CA counts as known to every API server: if not, a rotation waits until it does (the replicas'
    /// `hold`, a day unless set otherwise).
    pub next_is_held: bool,
    active: Option<CaId>,
    trusted: BTreeSet<CaId>,
}

impl RingCommand {
    /// Writes the annotation, over the version of the Secret that was read. Needs `get` and `patch` on the Secret.
    ///
    /// # Errors
    /// There is no ring, the cluster cannot be reached, a right is missing.
    pub async fn write(
        self,
        client: kube::Client,
        secret: &NamespacedName,
        now: SystemTime,
    ) -> Result<PendingCommand, InspectError> {
        let cluster = Cluster::new(client);
        for _ in 0..ATTEMPTS {
            let found = cluster.secret(secret).await?;
            let Some(found) = found else { return Err(InspectError::NoRing(secret.clone())) };
            let patch = json!({ "metadata": {
                "resourceVersion": found.metadata.resource_version,
                "annotations": { (self.annotation()): stamp(now) },
            }});
            let requested = self.requested(secret, &read(found, now))?;
            if cluster.patch_secret(secret, &patch).await?.is_some() {
                return Ok(requested);
            }
        }
        Err(InspectError::Contended(secret.clone()))
    }

    /// A new value of this annotation is a new request.
    fn annotation(self) -> &'static str {
        match self {
            Self::Rotate => ROTATE,
            Self::Revoke => REVOKE,
        }
    }

    fn requested(self, secret: &NamespacedName, reading: &Reading) -> Result<PendingCommand, InspectError> {
        let facts = reading.facts();
        let facts = facts.facts().ok_or_else(|| InspectError::NoRing(secret.clone()))?;
        Ok(PendingCommand {
            command: self,
            secret: secret.clone(),
            next_is_held: facts.next().is_some_and(|next| next.held.is_some()),
            active: facts.active().map(|ca| ca.id),
            trusted: facts.trusted(),
        })
    }
}

impl PendingCommand {
    /// Resolves when it was done: another CA signs, or none of the former ones is trusted. Wrap it in a time-out.
    ///
    /// # Errors
    /// A right was taken away. That the cluster cannot be reached for a while is none.
    pub async fn done(&self, client: kube::Client) -> Result<(), InspectError> {
        let cluster = Cluster::new(client);
        loop {
            match cluster.secret(&self.secret).await {
                Ok(Some(secret)) => {
                    if self.is_done(&read(secret, SystemTime::now())) {
                        return Ok(());
                    }
                }
                Ok(None) | Err(InspectError::Unreachable { .. }) => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    fn is_done(&self, reading: &Reading) -> bool {
        let facts = reading.facts();
        let Some(facts) = facts.facts() else { return false };
        match self.command {
            RingCommand::Rotate => facts.active().map(|ca| ca.id) != self.active,
            RingCommand::Revoke => facts.trusted().is_disjoint(&self.trusted),
        }
    }
}

/// The time of the request: a different value each time.
fn stamp(now: SystemTime) -> String {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = i64::try_from(since.as_secs()).unwrap_or_default();
    let nanosecond = i32::try_from(since.subsec_nanos()).unwrap_or_default();
    k8s_openapi::jiff::Timestamp::new(second, nanosecond)
        .map_or_else(|_| format!("{since:?}"), |time| time.to_string())
}
