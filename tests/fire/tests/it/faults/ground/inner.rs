//! A replica in this process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use rustls_pki_types::UnixTime;
use vestibule_identity::{Identity, IdentityEvent, Observer, SelfManaged, Settings};
use vestibule_pki::ring::Moment;

/// A replica in this process.
pub(crate) struct Inner {
    pub(crate) identity: Arc<SelfManaged>,
    pub(crate) told: Arc<Told>,
}

impl Inner {
    pub(crate) fn start(client: Client, mut settings: Settings) -> Self {
        let told = Arc::<Told>::default();
        settings.observer = Some(told.clone());
        Self { identity: SelfManaged::start(client, settings).unwrap(), told }
    }

    pub(crate) async fn ready(&self) {
        const SECONDS: u64 = 60;
        let ready = tokio::time::timeout(Duration::from_secs(SECONDS), self.identity.ready()).await;
        assert!(ready.is_ok(), "not ready within {SECONDS} s: {:?}", self.identity.status());
    }

    /// Whether a client that trusts this bundle accepts what is presented, at that time.
    pub(crate) fn is_accepted(&self, bundle: &str, name: &str, at: Moment) -> bool {
        let Some(leaf) = self.identity.present() else { return false };
        let at = UnixTime::since_unix_epoch(Duration::from_secs(at.0));
        vestibule_pki::verify(bundle, &leaf.chain, &[name], at).is_ok()
    }
}

/// What a replica tells.
#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<&'static str>>);

impl Told {
    /// What it did to the ring so far.
    pub(crate) fn changes(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, change: &str) -> usize {
        self.changes().iter().filter(|told| **told == change).count()
    }
}

impl Observer for Told {
    fn happened(&self, event: &IdentityEvent) {
        if let IdentityEvent::RingWritten { change } = event {
            self.0.lock().unwrap().push(change);
        }
    }
}
