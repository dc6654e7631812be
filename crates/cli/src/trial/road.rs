//! The injector on loopback, and kube-apiserver's side of the conversation.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use vestibule::command::CommandError;
use vestibule::identity::{Identity, Local};
use vestibule::patch::{Document, Operation};
use vestibule::{Options, Registration, Shutdown, Target};
use vestibule_caller::{Caller, FailurePolicy, Hook, Outcome, Review, judge};
use vestibule_injector::Namespaces;
use vestibule_rules::RuleSet;

use super::recorder::{Heard, Recorder};

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
    policy: FailurePolicy,
    /// Group and resource, for CREATE.
    resources: Vec<(String, String)>,
}

/// An object on the road.
pub(super) struct Traveller {
    /// As the API server would send it: JSON with a namespace.
    pub(super) json: String,
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
}

/// What became of it.
#[derive(Default)]
pub(super) struct Passage {
    pub(super) operations: Vec<Operation>,
    pub(super) warnings: Vec<String>,
    pub(super) heard: Heard,
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
        let ca_bundle = identity.ca_bundle();
        let target = Target::url(&format!("https://{NAME}")).map_err(CommandError::running)?;
        let registration = app.registration(&target, &ca_bundle).map_err(CommandError::running)?;
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bound = app.bind(Options::new(listen, Arc::new(identity))).await.map_err(CommandError::running)?;
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
            let review = Review::create(object.clone()).build()?;
            let answer = self.caller.call(&review, &registered.hook).await?;
            passage.called = true;
            let allowed = match judge(&review, &registered.hook, &answer) {
                Outcome::Allowed(allowed) => allowed,
                Outcome::Denied(denied) => {
                    passage.warnings.extend(denied.warnings.shown);
                    passage.refusal = Some(Refusal { reason: denied.reason, message: denied.message });
                    break;
                }
                Outcome::Failed(failed) => {
                    anyhow::bail!("{} (failurePolicy {:?})", failed.message, registered.policy)
                }
            };
            passage.warnings.extend(allowed.warnings.shown);
            let operations = allowed.patch.map(serde_json::from_value::<Vec<Operation>>).transpose()?;
            let operations = operations.unwrap_or_default();
            document.apply_all(&operations)?;
            object = serde_json::from_str(&document.to_json())?;
            // Two implementations of RFC 6902 must come to the same.
            anyhow::ensure!(allowed.object.as_ref() == Some(&object), "the patch has two readings; please report it");
            passage.operations.extend(operations);
        }
        passage.heard = self.recorder.take();
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
        let wanted = (traveller.group, traveller.resource);
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
            policy: match webhook.failure_policy.as_deref() {
                Some("Ignore") => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            resources: resources.collect(),
        }
    });
    registered.collect()
}
