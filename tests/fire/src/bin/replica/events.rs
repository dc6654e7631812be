//! The server's observer, which prints events.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use fire::ReplicaEvent;
use vestibule::server::{Decided, Observer};
use vestibule_identity::{Identity, Leaf};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::print_event;

/// Prints failed handshakes, and each leaf at the first call that it served: an unused leaf proves nothing.
pub(crate) struct EventPrinter {
    /// [`None`] if connections stay open, because a call then does not show which leaf is current.
    identity: Option<Arc<dyn Identity>>,
    last: Mutex<Option<Arc<Leaf>>>,
}

impl EventPrinter {
    pub(crate) fn of(identity: Option<Arc<dyn Identity>>) -> Self {
        Self { identity, last: Mutex::new(None) }
    }
}

impl Observer for EventPrinter {
    fn decided(&self, _decided: &Decided<'_>) {
        let Some(leaf) = self.identity.as_ref().and_then(|identity| identity.present()) else { return };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.as_ref().is_some_and(|known| Arc::ptr_eq(known, &leaf)) {
            describe(&leaf).iter().for_each(print_event);
            *last = Some(leaf);
        }
    }

    fn handshake_failed(&self, _peer: SocketAddr, reason: &str) {
        print_event(&ReplicaEvent::HandshakeFailed { reason: reason.to_owned() });
    }
}

fn describe(leaf: &Leaf) -> Option<ReplicaEvent> {
    let read = Certificate::from_der(leaf.chain.first()?).ok()?;
    let certificate = read.tbs_certificate();
    Some(ReplicaEvent::Presented {
        serial: certificate.serial_number().to_string(),
        issuer: certificate.issuer().to_string(),
        crossed: leaf.chain.len() > 1,
        not_after: leaf.not_after.as_secs(),
    })
}
