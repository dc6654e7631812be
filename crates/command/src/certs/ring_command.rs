//! Requests a rotation or revocation from the replicas of a ring, and waits until it is done.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::json;
use vestibule_identity::NamespacedName;
use vestibule_identity::inspect::{REVOKE, ROTATE};
use vestibule_pki::ring::{CaId, Facts, Reading};

use super::objects::{ObjectError, Objects};

/// The attempts when other programs write the Secret at the same time.
const ATTEMPTS: usize = 5;
const PERIOD: Duration = Duration::from_millis(500);

/// A command to the replicas of a ring, written as an annotation on its Secret; any replica carries it out.
#[derive(Clone, Copy)]
pub(super) enum RingCommand {
    /// The next CA is to sign from now on, as soon as every API server knows it. No call fails.
    Rotate,
    /// The keys are lost or stolen: new CAs at once, and no trust in the present ones as soon as they are replaced.
    Revoke,
}

/// A command that was written and may not be done yet.
pub(super) struct PendingCommand {
    pub(super) command: RingCommand,
    /// The ring's Secret.
    pub(super) secret: NamespacedName,
    /// Whether the next CA counts as known to every API server: if not, a rotation waits until it does (the replicas'
    /// `hold`, a day unless set otherwise).
    pub(super) next_is_held: bool,
    active: Option<CaId>,
    trusted: BTreeSet<CaId>,
}

impl RingCommand {
    /// Writes the annotation, over the version of the Secret that was read. Needs `get` and `patch` on the Secret.
    pub(super) async fn write(
        self,
        objects: &Objects,
        secret: &NamespacedName,
    ) -> Result<PendingCommand, ObjectError> {
        // A new value of the annotation is a new request.
        let annotation = match self {
            Self::Rotate => ROTATE,
            Self::Revoke => REVOKE,
        };
        for _ in 0..ATTEMPTS {
            let found = objects.ring(secret, SystemTime::now()).await?;
            let (found, reading) = found.ok_or_else(|| ObjectError::NoRing(secret.clone()))?;
            let patch = json!({ "metadata": {
                "resourceVersion": found.metadata.resource_version,
                "annotations": { (annotation): Timestamp::now().to_string() },
            }});
            let ring = reading.ring().ok_or_else(|| without_ring(secret, &reading))?;
            let pending = self.pending(secret, ring.facts());
            if objects.patch_secret(secret, &patch).await? {
                return Ok(pending);
            }
        }
        Err(ObjectError::Refused(format!(
            "Secret {secret} changed each time that it was to be written; try again"
        )))
    }

    fn pending(self, secret: &NamespacedName, facts: &Facts) -> PendingCommand {
        PendingCommand {
            command: self,
            secret: secret.clone(),
            next_is_held: facts.next().is_some_and(|next| next.held.is_some()),
            active: facts.active().map(|ca| ca.id),
            trusted: facts.trusted(),
        }
    }
}

/// Why a Secret that exists has no ring.
fn without_ring(secret: &NamespacedName, reading: &Reading) -> ObjectError {
    let why = match reading {
        Reading::Unreadable(error) => error.to_string(),
        Reading::Newer(_) => "a newer version of vestibule wrote it, whose commands can read it".to_owned(),
        Reading::Absent | Reading::Known(_) => return ObjectError::NoRing(secret.clone()),
    };
    ObjectError::UnusableRing(secret.clone(), why)
}

impl PendingCommand {
    /// Resolves when another CA signs, or none of the former CAs is trusted. Wrap it in a time-out: a cluster that cannot be
    /// reached for a while is no error.
    pub(super) async fn done(&self, objects: &Objects) -> Result<(), ObjectError> {
        loop {
            match objects.ring(&self.secret, SystemTime::now()).await {
                Ok(Some((_, reading))) if reading.ring().is_some_and(|ring| self.is_done(ring.facts())) => {
                    return Ok(());
                }
                Ok(_) | Err(ObjectError::Unreachable(_)) => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    fn is_done(&self, facts: &Facts) -> bool {
        match self.command {
            RingCommand::Rotate => facts.active().map(|ca| ca.id) != self.active,
            RingCommand::Revoke => facts.trusted().is_disjoint(&self.trusted),
        }
    }
}
