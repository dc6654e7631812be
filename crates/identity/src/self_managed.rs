//! Keeps a CA ring on a cluster. Every replica runs the same tasks; there is no leader.

mod api_client;
mod backoff;
mod bundle_patch;
mod control_loop;
mod entries;
mod managed_fields;
mod notices;
mod registration;
mod ring_secret;
mod state;
mod watched;
mod watches;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::api_client::ApiClient;
use self::control_loop::{ControlLoop, Shared, lock, now};
use self::managed_fields::FieldManagers;
use self::notices::Notifier;
use self::state::State;
use crate::{Desired, Identity, IdentityError, Leaf, RegistrationName, Settings, Status};

/// Keeps a CA ring in a Secret and its bundle in the registered configurations, together with any number of replicas,
/// and signs its own leaf in memory. It works in tasks of its own until it is dropped.
///
/// ```no_run
/// use vestibule_identity::{Identity, NamespacedName, SelfManaged, Settings};
///
/// # async fn an_operator(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut settings = Settings::for_service("demo/hooks".parse()?);
/// settings.registrations = vec!["crd/widgets.example.com".parse()?];
/// let identity = SelfManaged::start(client, settings)?;
/// identity.ready().await;
/// assert!(identity.present().is_some());
/// # Ok(())
/// # }
/// ```
pub struct SelfManaged {
    shared: Arc<Shared>,
    /// All tasks end when this is dropped.
    _tasks: JoinSet<()>,
}

impl SelfManaged {
    /// Starts the tasks in the runtime of the caller.
    ///
    /// # Errors
    /// Settings that name no Secret or no name for the certificate, or that would break an invariant; no runtime.
    pub fn start(client: kube::Client, mut settings: Settings) -> Result<Arc<Self>, IdentityError> {
        let runtime = Handle::try_current().map_err(|_| unusable("it needs a tokio runtime"))?;
        let secret = settings.secret.clone().ok_or_else(|| unusable("no Secret is named for the CA ring"))?;
        let mut updates = settings.updates.take().map(|updates| updates.0.subscribe());
        if let Some(latest) = updates.as_mut().and_then(|updates| updates.borrow_and_update().clone()) {
            settings.desired = latest;
        }
        check(&settings)?;

        // A watch waits while the channel is full; no event is lost.
        let (events, inbox) = mpsc::channel(64);
        let (notifier, waiting) = Notifier::new();
        let watched: Vec<_> = settings.watched().collect();
        let observer = settings.observer.clone();
        let manager = settings.manager.clone();
        let managers = FieldManagers::new(&manager);
        let api_client = ApiClient::new(client.clone(), managers, &secret, &watched);
        let shared = Arc::new(Shared::new(State::new(settings, secret.clone()), notifier, observer));
        let control_loop = ControlLoop::new(Arc::clone(&shared), api_client, inbox);

        let mut tasks = JoinSet::new();
        tasks.spawn_on(watches::watch_ring(client.clone(), secret, events.clone()), &runtime);
        for place in watched.into_iter().enumerate() {
            tasks.spawn_on(watches::watch_configuration(client.clone(), place, events.clone()), &runtime);
        }
        if let Some(updates) = updates {
            tasks.spawn_on(watches::follow_desired(updates, events), &runtime);
        }
        tasks.spawn_on(async move { waiting.write(client, &manager).await }, &runtime);
        tasks.spawn_on(control_loop.run(), &runtime);
        Ok(Arc::new(Self { shared, _tasks: tasks }))
    }
}

impl Identity for SelfManaged {
    fn present(&self) -> Option<Arc<Leaf>> {
        let shared = &self.shared;
        let presented = shared.presented.load_full()?;
        if Instant::now() >= presented.overdue {
            shared.with_state(|state, now, at| {
                let renewed = state.renew_overdue(now, at);
                renewed.map(|leaf| shared.present(&leaf, state, now, at))
            });
            return shared.presented.load_full().map(|presented| Arc::clone(&presented.leaf));
        }
        Some(Arc::clone(&presented.leaf))
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        lock(&self.shared.state).ca_bundle.clone()
    }

    fn status(&self) -> Status {
        lock(&self.shared.state).status(now())
    }

    fn serving(&self) {
        lock(&self.shared.state).serving(Instant::now());
    }

    /// After this returns no further write begins, and a write in progress is cancelled.
    fn draining(&self) {
        lock(&self.shared.state).draining();
        self.shared.is_draining.send_replace(true);
    }

    fn ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // The sender lives as long as `self`.
            let _ = self.shared.is_ready.subscribe().wait_for(|ready| *ready).await;
        })
    }
}

fn check(settings: &Settings) -> Result<(), IdentityError> {
    if settings.manager.is_empty() {
        return Err(unusable("the name of the field manager is empty"));
    }
    if settings.all_names().is_empty() {
        return Err(unusable("no Service, DNS name or IP address is named for the certificate"));
    }
    if has_duplicates(settings.registrations.iter()) {
        return Err(unusable("a registration is named twice"));
    }
    if has_duplicates(settings.desired.iter().map(Desired::registration)) {
        return Err(unusable("the entries of one registration are given twice"));
    }
    let unregistered = |desired: &&Desired| {
        !desired.entries().is_empty() && !settings.registrations.contains(desired.registration())
    };
    if let Some(desired) = settings.desired.iter().find(unregistered) {
        let name = desired.registration();
        return Err(unusable(format!("{name} is to hold entries, and is not among the registrations")));
    }
    settings.policy.check().map_err(|problems| {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        unusable(problems.join("; "))
    })
}

fn has_duplicates<'n>(mut names: impl Iterator<Item = &'n RegistrationName>) -> bool {
    let mut seen = BTreeSet::new();
    !names.all(|name| seen.insert(name))
}

fn unusable(reason: impl Into<String>) -> IdentityError {
    IdentityError::Settings { reason: reason.into() }
}
