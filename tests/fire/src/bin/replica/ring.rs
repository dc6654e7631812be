//! An identity with a CA ring, and the observer that prints its writes.

use std::sync::Arc;

use fire::ReplicaEvent;
use vestibule_identity::{Identity, IdentityEvent, NamespacedName, Observer, SelfManaged, Settings};

use crate::{Arguments, print_event};

pub(crate) fn start(client: kube::Client, arguments: &Arguments) -> anyhow::Result<Arc<dyn Identity>> {
    let named = |name: &str| NamespacedName { namespace: arguments.namespace.clone(), name: name.to_owned() };
    let mut settings = Settings::for_service(named(&arguments.service));
    if let Some(name) = &arguments.name {
        (settings.service, settings.names) = (None, vec![name.clone()]);
    }
    settings.algorithm = arguments.algorithm;
    settings.secret = Some(named(&arguments.secret));
    settings.registrations = vec![arguments.registration.parse()?];
    settings.policy = arguments.timing.policy();
    settings.observer = Some(Arc::new(RingEventPrinter));
    Ok(SelfManaged::start(client, settings)?)
}

struct RingEventPrinter;

impl Observer for RingEventPrinter {
    fn happened(&self, event: &IdentityEvent) {
        match event {
            IdentityEvent::RingWritten { change } => {
                print_event(&ReplicaEvent::RingWritten { change: (*change).to_owned() });
            }
            IdentityEvent::BundleWritten { registration, repaired_from } => {
                print_event(&ReplicaEvent::BundleWritten {
                    registration: registration.to_string(),
                    repaired_from: repaired_from.clone(),
                });
            }
            IdentityEvent::Discontinuity => print_event(&ReplicaEvent::Discontinuity),
            IdentityEvent::Failed { object, reason } => {
                print_event(&ReplicaEvent::Trouble { what: format!("{object}: {reason}") });
            }
            // The server's observer prints presented certificates.
            _ => {}
        }
    }
}
