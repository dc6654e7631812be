//! Requests for CA rotations, and the ring's state as the Secret shows it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::bail;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use vestibule_pki::ring::{Moment, Ring};

use crate::{Order, ROTATE};

/// The ring's state in one version of the Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingView {
    /// The CA that signs; empty if there is none.
    pub active: String,
    /// Whether the last rotation is complete and the next one may begin.
    pub settled: bool,
    /// The number of trusted CAs.
    pub trusted: usize,
    /// The number of private keys.
    pub keys: usize,
    /// The number of private keys of CAs other than the active and the next one.
    pub retired_keys: usize,
}

impl RingView {
    /// Reads the Secret.
    #[must_use]
    pub fn of(secret: &Secret, order: Order) -> Self {
        let empty = BTreeMap::new();
        let data = secret.data.as_ref().unwrap_or(&empty);
        let data: BTreeMap<String, &[u8]> =
            data.iter().map(|(key, value)| (key.clone(), value.0.as_slice())).collect();
        let keys = data.keys().filter(|field| field.ends_with(".key")).count();
        match order {
            Order::LeafFirst => {
                let active = data.get("ca.crt").map(|pem| String::from_utf8_lossy(pem).into_owned());
                let settled = active.is_some();
                Self { active: active.unwrap_or_default(), settled, trusted: 1, keys, retired_keys: 0 }
            }
            Order::Ring => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let Ok(ring) = Ring::decode(&data, (0, 0), Moment(now.as_secs())) else {
                    return Self { keys, ..Self::default() };
                };
                let facts = ring.facts();
                let signers = [facts.active(), facts.next()].into_iter().flatten();
                let signers: Vec<_> = signers.map(|ca| format!("ca-{}.key", ca.id)).collect();
                let is_retired = |field: &&String| {
                    field.starts_with("ca-") && field.ends_with(".key") && !signers.contains(field)
                };
                Self {
                    active: facts.active().map(|ca| ca.id.to_string()).unwrap_or_default(),
                    settled: !facts.is_overlapping() && facts.next().is_some_and(|ca| ca.held.is_some()),
                    trusted: facts.trusted().len(),
                    keys,
                    retired_keys: data.keys().filter(is_retired).count(),
                }
            }
        }
    }
}

/// Requests rotations one after the other, by the annotation on the Secret.
pub struct Rotations {
    secrets: Api<Secret>,
    name: String,
    views: watch::Receiver<RingView>,
    asked: usize,
    last: Option<Instant>,
}

impl Rotations {
    pub(crate) fn new(secrets: Api<Secret>, name: &str, views: watch::Receiver<RingView>) -> Self {
        Self { secrets, name: name.to_owned(), views, asked: 0, last: None }
    }

    /// Requests a rotation, at least `period` after the last one, and returns when another CA signs.
    ///
    /// # Errors
    /// The ring is not ready for a rotation, or does not rotate, within `patience`.
    pub async fn rotate(&mut self, period: Duration, patience: Duration) -> anyhow::Result<()> {
        if let Some(last) = self.last {
            tokio::time::sleep(period.saturating_sub(last.elapsed())).await;
        }
        let before = self.settle(patience).await?.active;
        self.asked += 1;
        self.last = Some(Instant::now());
        let annotations = json!({ "metadata": { "annotations": { ROTATE: self.asked.to_string() } } });
        self.secrets.patch(&self.name, &PatchParams::default(), &Patch::Merge(annotations)).await?;
        let changed = self.views.wait_for(|view| !view.active.is_empty() && view.active != before);
        match timeout(patience, changed).await {
            Ok(Ok(_)) => Ok(()),
            _ => bail!("no other CA signs {patience:?} after a rotation was asked for"),
        }
    }

    /// Waits until no rotation is under way.
    ///
    /// # Errors
    /// The rotation takes longer than `patience`.
    pub async fn settle(&mut self, patience: Duration) -> anyhow::Result<RingView> {
        if let Ok(Ok(view)) = timeout(patience, self.views.wait_for(|view| view.settled)).await {
            return Ok(view.clone());
        }
        let view = self.views.borrow().clone();
        bail!("the ring is not ready for a rotation within {patience:?}: {view:?}")
    }
}
