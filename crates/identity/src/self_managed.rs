//! Keeps a CA ring on a cluster. Every replica runs the same tasks; there is no leader.

mod api_client;
mod backoff;
mod bundle_patch;
mod entries;
mod keeper;
mod managed_fields;
mod notices;
mod registration;
mod ring_secret;
mod state;
mod watched;
mod watches;

use std::pin::Pin;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::api_client::ApiClient;
use self::keeper::{Keeper, Shared};
use self::managed_fields::FieldManagers;
use self::notices::Notifier;
use self::state::State;
use crate::{Desired, Identity, IdentityError, Leaf, Settings, Status};

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
        let mut updates = settings.updates.take().map(|updates| updates.subscribe());
        if let Some(latest) = updates.as_mut().and_then(|updates| updates.borrow_and_update().clone()) {
            settings.desired = latest;
        }
        check(&settings)?;

        // A watch waits while the channel is full; no event is lost.
        let (news, inbox) = mpsc::channel(64);
        let (notifier, waiting) = Notifier::new();
        let watched: Vec<_> = settings.watched().collect();
        let observer = settings.observer.clone();
        let manager = settings.manager.clone();
        let api_client = ApiClient::new(client.clone(), FieldManagers::new(&manager));
        let shared = Arc::new(Shared::new(State::new(settings, secret.clone()), notifier, observer));
        let keeper = Keeper::new(Arc::clone(&shared), api_client, inbox);

        let mut tasks = JoinSet::new();
        tasks.spawn_on(watches::watch_ring(client.clone(), secret, news.clone()), &runtime);
        for place in watched.into_iter().enumerate() {
            tasks.spawn_on(watches::watch_configuration(client.clone(), place, news.clone()), &runtime);
        }
        if let Some(updates) = updates {
            tasks.spawn_on(watches::follow(updates, news), &runtime);
        }
        tasks.spawn_on(async move { waiting.write(client, &manager).await }, &runtime);
        tasks.spawn_on(keeper.keep(), &runtime);
        Ok(Arc::new(Self { shared, _tasks: tasks }))
    }

    /// Resolves when there is a certificate that every API server accepts.
    pub async fn ready(&self) {
        self.shared.ready().await;
    }
}

impl Identity for SelfManaged {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.shared.present()
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        self.shared.ca_bundle()
    }

    fn status(&self) -> Status {
        self.shared.status()
    }

    fn serving(&self) {
        self.shared.serving();
    }

    fn draining(&self) {
        self.shared.draining();
    }

    fn ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.shared.ready())
    }
}

fn check(settings: &Settings) -> Result<(), IdentityError> {
    let policy = &settings.policy;
    if settings.manager.is_empty() {
        return Err(unusable("the name of the field manager is empty"));
    }
    if settings.all_names().is_empty() {
        return Err(unusable("no Service, DNS name or IP address is named for the certificate"));
    }
    let mut registrations = settings.registrations.clone();
    registrations.sort();
    if registrations.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(unusable("a registration is named twice"));
    }
    let mut desired: Vec<_> = settings.desired.iter().map(Desired::registration).collect();
    desired.sort();
    if desired.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(unusable("what one registration is to hold is said twice"));
    }
    let unregistered = |desired: &&Desired| {
        !desired.entries().is_empty() && !settings.registrations.contains(desired.registration())
    };
    if let Some(desired) = settings.desired.iter().find(unregistered) {
        let name = desired.registration();
        return Err(unusable(format!("{name} is to hold entries, and is not among the registrations")));
    }
    policy.check().map_err(|problems| {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        unusable(problems.join("; "))
    })
}

fn unusable(reason: impl Into<String>) -> IdentityError {
    IdentityError::Settings { reason: reason.into() }
}
