//! The CA ring.

use std::sync::Arc;

use fire::Fact;
use vestibule_identity::{Happening, Identity, Leaf, NamespacedName, Observer, SelfManaged, Settings};

use crate::{Arguments, Source, tell};

pub(crate) fn start(client: kube::Client, arguments: &Arguments) -> anyhow::Result<Arc<dyn Source>> {
    let named = |name: &str| NamespacedName { namespace: arguments.namespace.clone(), name: name.to_owned() };
    let mut settings = Settings::for_service(named(&arguments.service));
    if let Some(name) = &arguments.name {
        (settings.service, settings.names) = (None, vec![name.clone()]);
    }
    settings.algorithm = arguments.algorithm;
    settings.secret = Some(named(&arguments.secret));
    settings.registrations = vec![arguments.registration.parse()?];
    settings.policy = arguments.timing.policy();
    settings.observer = Some(Arc::new(Teller));
    Ok(Arc::new(Ring(SelfManaged::start(client, settings)?)))
}

struct Ring(Arc<SelfManaged>);

impl Source for Ring {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.0.present()
    }

    fn waiting_for(&self) -> Option<String> {
        self.0.status().waiting_for
    }
}

struct Teller;

impl Observer for Teller {
    fn happened(&self, happening: &Happening) {
        match happening {
            Happening::RingWritten { change } => tell(&Fact::RingWritten { change: (*change).to_owned() }),
            Happening::BundleWritten { registration, repaired_from } => tell(&Fact::BundleWritten {
                registration: registration.to_string(),
                repaired_from: repaired_from.clone(),
            }),
            Happening::Discontinuity => tell(&Fact::Discontinuity),
            Happening::Failed { object, reason } => {
                tell(&Fact::Trouble { what: format!("{object}: {reason}") });
            }
            // What counts is what is presented; `Presenter` tells that.
            _ => {}
        }
    }
}
