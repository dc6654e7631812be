//! Asking the replicas of a ring for a rotation or a revocation, and seeing it done.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use vestibule_pki::ring::{CaId, Reading, Request};

use crate::NamespacedName;
use crate::inspect::{Cluster, InspectError, read};

/// How often to try when others write the Secret at the same time.
const ATTEMPTS: usize = 5;
const PERIOD: Duration = Duration::from_millis(500);

/// What to ask of the replicas of a ring. They are asked by an annotation on its Secret; any of them does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingCommand {
    /// The next CA is to sign from now on, as soon as every API server knows it. No call fails.
    Rotate,
    /// The keys are lost or stolen: new CAs at once, and no trust in the present ones as soon as they are replaced.
    Revoke,
}

/// A command that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingCommand {
    /// What was asked.
    pub command: RingCommand,
    /// Of whom.
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

    /// Another value of it than last time asks.
    fn annotation(self) -> &'static str {
        match self {
            Self::Rotate => "vestibule.dev/rotate",
            Self::Revoke => "vestibule.dev/revoke",
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

/// What the annotations of a ring's Secret ask for, as [`Ring::read`](vestibule_pki::ring::Ring::read) takes it: a
/// rotation, a revocation.
pub(crate) fn requests(secret: &ObjectMeta) -> (u64, u64) {
    let asked = |command: RingCommand| {
        let value = secret.annotations.as_ref().and_then(|annotations| annotations.get(command.annotation()));
        Request::digest(value.map(String::as_str))
    };
    (asked(RingCommand::Rotate), asked(RingCommand::Revoke))
}

/// Another value each time; people see when it was asked.
fn stamp(now: SystemTime) -> String {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = i64::try_from(since.as_secs()).unwrap_or_default();
    let nanosecond = i32::try_from(since.subsec_nanos()).unwrap_or_default();
    k8s_openapi::jiff::Timestamp::new(second, nanosecond)
        .map_or_else(|_| format!("{since:?}"), |time| time.to_string())
}
