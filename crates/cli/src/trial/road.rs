//! The injector on loopback, and kube-apiserver's side of the conversation.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use vestibule::identity::{Identity, Local};
use vestibule::patch::{Document, Operation};
use vestibule::{Options, Registration, Shutdown, Target};
use vestibule_caller::{Caller, Hook, Outcome, Review, judge};
use vestibule_command::CommandError;
use vestibule_injector::Namespaces;
use vestibule_rules::{Change, Resource, RuleSet};

use super::recorder::{Heard, Idle, Recorder};

const NAME: &str = "localhost";

/// A running injector, and a caller that knows its registration.
pub(super) struct Road {
    caller: Caller,
    hooks: Vec<Registered>,
    recorder: Arc<Recorder>,
    shutdown: Shutdown,
}

/// An entry of the registration.
struct Registered {
    hook: Hook,
    /// Group and resource, for CREATE.
    resources: Vec<(String, String)>,
}

/// An object on the road.
pub(super) struct Traveller {
    /// As the API server would send it: JSON with a namespace.
    pub(super) json: String,
    pub(super) resource: Resource,
}

/// What became of it.
#[derive(Default)]
pub(super) struct Passage {
    /// In the order they apply.
    pub(super) changes: Vec<Change>,
    /// Rules that changed nothing.
    pub(super) idle: Vec<Idle>,
    pub(super) warnings: Vec<String>,
    pub(super) refusal: Option<Refusal>,
    /// Whether there is a hook for it at all.
    pub(super) called: bool,
}

/// The API server's words to the user whose object does not pass.
#[derive(Clone)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) message: String,
}

impl Road {
    pub(super) async fn build(rules: RuleSet, namespaces: Namespaces) -> Result<Self, CommandError> {
        let recorder = Arc::new(Recorder::default());
        let app = vestibule_injector::observed_app(rules, namespaces, Arc::clone(&recorder) as _)
            .map_err(CommandError::input)?;
        let identity = Local::in_memory(&[NAME], SystemTime::now()).map_err(CommandError::running)?;
        let ca_bundle = identity.ca_bundle().unwrap_or_default();
        let target = Target::url(&format!("https://{NAME}")).map_err(CommandError::running)?;
        let registration = app.registration(&target, &ca_bundle).map_err(CommandError::running)?;
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bound =
            app.bind(Options::new(listen, Arc::new(identity))).await.map_err(CommandError::running)?;
        let caller =
            Caller::new(bound.address(), NAME, ca_bundle.as_bytes()).map_err(CommandError::running)?;
        let shutdown = bound.shutdown();
        tokio::spawn(bound.serve());
        Ok(Self { caller, hooks: hooks(registration), recorder, shutdown })
    }

    /// Sends the object to every hook that is registered for it, each with what the one before made of it.
    pub(super) async fn walk(&self, traveller: &Traveller) -> anyhow::Result<Passage> {
        let mut passage = Passage::default();
        let mut document = Document::parse(&traveller.json)?;
        let mut object: Value = serde_json::from_str(&traveller.json)?;
        for registered in self.hooks.iter().filter(|registered| registered.wants(traveller)) {
            let review = Review::create(object).build()?;
            let answer = self.caller.call(&review, &registered.hook).await?;
            let Heard { changes, idle } = self.recorder.take();
            passage.called = true;
            passage.idle.extend(idle);
            let allowed = match judge(&review, &registered.hook, &answer) {
                Outcome::Allowed(allowed) => allowed,
                Outcome::Denied(denied) => {
                    passage.warnings.extend(denied.warnings.shown);
                    passage.refusal = Some(Refusal { reason: denied.reason, message: denied.message });
                    break;
                }
                Outcome::Failed(failed) => anyhow::bail!("{}", failed.message),
            };
            passage.warnings.extend(allowed.warnings.shown);
            // The rules' own operations keep the order of members and the digits of numbers, which the caller's plain
            // JSON does not; that they are what came over the wire, and mean the same to another implementation of
            // RFC 6902, is made sure of here.
            let operations: Vec<Operation> = changes.iter().map(|change| change.operation.clone()).collect();
            let sent = serde_json::to_value(&operations)?;
            anyhow::ensure!(
                allowed.patch.unwrap_or_else(|| json!([])) == sent,
                "the answer holds another patch"
            );
            document.apply_all(&operations)?;
            object = serde_json::from_str(&document.to_json())?;
            anyhow::ensure!(allowed.object.as_ref() == Some(&object), "the patch has two readings");
            passage.changes.extend(changes);
        }
        Ok(passage)
    }
}

impl Drop for Road {
    fn drop(&mut self) {
        self.shutdown.abort();
    }
}

impl Registered {
    fn wants(&self, traveller: &Traveller) -> bool {
        let wanted = (traveller.resource.group(), traveller.resource.as_str());
        self.resources.iter().any(|(group, resource)| (group.as_str(), resource.as_str()) == wanted)
    }
}

/// The registration read as kube-apiserver reads it. Selectors are left aside: what they leave out, the rules leave
/// alone too, and say why.
fn hooks(registration: Registration) -> Vec<Registered> {
    let webhooks = registration.mutating.and_then(|mutating| mutating.webhooks).unwrap_or_default();
    let registered = webhooks.into_iter().map(|webhook| {
        let url = webhook.client_config.url.unwrap_or_default();
        let path = url.split_once(NAME).map_or("/", |(_, path)| path);
        let rules = webhook.rules.into_iter().flatten();
        let resources = rules.flat_map(|rule| {
            let groups = rule.api_groups.unwrap_or_default();
            let resources = rule.resources.unwrap_or_default();
            groups.into_iter().flat_map(move |group| {
                resources.clone().into_iter().map(move |resource| (group.clone(), resource))
            })
        });
        Registered {
            hook: Hook::mutating(&webhook.name, path)
                .timeout(Duration::from_secs(webhook.timeout_seconds.unwrap_or(10).unsigned_abs().into())),
            resources: resources.collect(),
        }
    });
    registered.collect()
}
