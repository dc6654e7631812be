//! Signs the replica's own leaf.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vestibule_pki::Leaf;
use vestibule_pki::ring::{Action, LeafFacts, Moment, step};

use super::{State, readiness_margin};
use crate::IdentityEvent;
use crate::self_managed::backoff::random_fraction;
use crate::self_managed::notices::About;
use crate::time::system_time;

impl State {
    /// Signs the leaf that `step` asks for. The key is new and never leaves memory.
    pub(super) fn sign(&mut self, leaf: &LeafFacts, now: Moment, at: Instant) -> Option<Arc<Leaf>> {
        if !self.signing.allows(at) {
            return None;
        }
        let now = self.corrected(now);
        let ring = Arc::clone(self.stored.as_ref()?);
        let (names, others): (Vec<_>, Vec<_>) =
            self.names.iter().cloned().partition(|name| ring.permits(name));
        if names.is_empty() {
            self.signing.failed(at);
            self.failed(About::Ring, Some("NameNotPermitted"), self.permits_no_name());
            return None;
        }
        if !others.is_empty() {
            self.warn(
                "NameNotPermitted",
                format!(
                    "the name constraints of the CA do not permit {}: the certificate leaves that out until the ring has \
                     rotated twice",
                    others.join(", ")
                ),
            );
        }
        match ring.sign(leaf, &names, now) {
            Ok(signed) => {
                self.signing.clear();
                self.issuer = ring.certificate(leaf.issuer).cloned();
                let text = format!("a certificate for {} was signed by CA {}", names.join(", "), leaf.issuer);
                let event = Some(IdentityEvent::LeafRenewed { not_after: system_time(leaf.not_after.0) });
                self.notify(About::Ring, (false, None), text, event);
                self.seen.leaf = Some(LeafFacts { renew: jittered(now, leaf.renew), ..leaf.clone() });
                Some(Arc::new(signed))
            }
            Err(error) => {
                self.signing.failed(at);
                self.failed(About::Ring, None, format!("no certificate can be signed: {error}"));
                None
            }
        }
    }

    /// The text for a ring whose CAs may sign for none of our names. A replica does not replace the ring by itself,
    /// because another webhook may keep it.
    pub(super) fn permits_no_name(&self) -> String {
        let (secret, names) = (&self.secret_name, self.names.join(", "));
        format!(
            "the CAs of the ring in Secret {secret} may not sign for {names}: was the Secret copied from another namespace, or is it \
             the ring of another webhook? If it is ours, this makes new CAs: kubectl annotate secret {} -n {} --overwrite \
             vestibule.dev/revoke=now",
            secret.name, secret.namespace
        )
    }

    /// Renews the leaf for a handshake that finds it overdue, as the main task would.
    pub(in crate::self_managed) fn renew_overdue(&mut self, now: Moment, at: Instant) -> Option<Arc<Leaf>> {
        if self.handshake.is_some_and(|next| at < next) {
            return None;
        }
        self.handshake = Some(at + Duration::from_secs(1));
        let actions = step(self.ring.as_ref()?, &self.seen, now, &self.settings.policy);
        let leaf = actions.into_iter().find_map(|action| match action {
            Action::SignLeaf(leaf) => Some(leaf),
            _ => None,
        });
        leaf.and_then(|leaf| self.sign(&leaf, now, at))
    }

    /// The time until a handshake renews the leaf if the main task did not.
    pub(in crate::self_managed) fn overdue_in(&self, now: Moment) -> Duration {
        let now = self.corrected(now);
        self.seen.leaf.as_ref().map_or(Duration::ZERO, |leaf| {
            let policy = &self.settings.policy;
            let late = leaf.renew.plus((policy.leaf_life / 10).max(Duration::from_secs(1)));
            late.min(leaf.not_after.minus(readiness_margin(policy))).since(now)
        })
    }
}

/// Moves the renewal by up to 10 %, so that replicas that started together renew at different times.
fn jittered(now: Moment, renew: Moment) -> Moment {
    now.plus(renew.since(now).mul_f64(0.9 + 0.2 * random_fraction()))
}
