//! The injector on loopback, called as kube-apiserver calls it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use serde_json::{Value, json};
use vestibule::identity::{Identity, Local};
use vestibule::patch::{Document, Operation};
use vestibule::server::Shutdown;
use vestibule::{Options, Registration, Target};
use vestibule_caller::{Caller, Hook, Outcome, Review, judge};
use vestibule_command::CommandError;
use vestibule_injector::Namespaces;
use vestibule_rules::{Change, RuleSet, Verdict};

use super::recorder::{Recorded, Recorder};
use crate::evaluation::{Answer, Submitted};

const NAME: &str = "localhost";

/// A running injector, and a caller that knows its registration.
pub(super) struct LoopbackInjector {
    caller: Caller,
    hooks: Vec<Registered>,
    recorder: Arc<Recorder>,
    shutdown: Shutdown,
}

/// An entry of the registration.
struct Registered {
    hook: Hook,
    rules: Vec<RuleWithOperations>,
}

/// The result of the calls for one object.
#[derive(Default)]
pub(super) struct Admission {
    /// In the order they apply; empty if the object was denied.
    pub(super) changes: Vec<Change>,
    /// The verdicts of rules that changed nothing.
    pub(super) unchanged: Vec<Verdict>,
    pub(super) warnings: Vec<String>,
    pub(super) refusal: Option<Refusal>,
    /// Whether any hook is registered for it.
    pub(super) is_called: bool,
}

/// The message of the API server about a denied object.
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) message: String,
}

impl Answer for Admission {
    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn denial(&self) -> Option<String> {
        self.refusal.as_ref().map(|refusal| refusal.message.clone())
    }
}

impl LoopbackInjector {
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

    /// Sends the object to every hook that is registered for it; each hook gets the result of the one before.
    pub(super) async fn admit(&self, submitted: &Submitted) -> anyhow::Result<Admission> {
        let mut admission = Admission::default();
        let mut document = Document::parse(&submitted.json)?;
        let mut object: Value = serde_json::from_str(&submitted.json)?;
        for registered in self.hooks.iter().filter(|registered| registered.accepts(submitted)) {
            let review = Review::create(object).build()?;
            let answer = self.caller.call(&review, &registered.hook).await?;
            let Recorded { changes, unchanged } = self.recorder.take();
            admission.is_called = true;
            admission.unchanged.extend(unchanged);
            let allowed = match judge(&review, &registered.hook, &answer) {
                Outcome::Allowed(allowed) => allowed,
                Outcome::Denied(denied) => {
                    admission.warnings.extend(denied.warnings.shown);
                    admission.refusal = Some(Refusal { reason: denied.reason, message: denied.message });
                    admission.changes.clear();
                    break;
                }
                Outcome::Failed(failed) => anyhow::bail!("{}", failed.message),
            };
            admission.warnings.extend(allowed.warnings.shown);
            // The report uses the operations of the rules, which keep the order of members and the digits of numbers. Check
            // that they equal the patch in the answer, and that the caller's implementation of RFC 6902 gives the same object.
            let operations: Vec<Operation> = changes.iter().map(|change| change.operation.clone()).collect();
            let sent = serde_json::to_value(&operations)?;
            anyhow::ensure!(
                allowed.patch.unwrap_or_else(|| json!([])) == sent,
                "the answer holds another patch"
            );
            document.apply_all(&operations)?;
            object = serde_json::from_str(&document.to_json())?;
            anyhow::ensure!(allowed.object.as_ref() == Some(&object), "the patch has two readings");
            admission.changes.extend(changes);
        }
        Ok(admission)
    }
}

impl Drop for LoopbackInjector {
    fn drop(&mut self) {
        self.shutdown.abort();
    }
}

impl Registered {
    fn accepts(&self, submitted: &Submitted) -> bool {
        let names = |list: &Option<Vec<String>>, name: &str| list.iter().flatten().any(|one| one == name);
        let (group, resource) = (submitted.resource.group(), submitted.resource.as_str());
        self.rules.iter().any(|rule| names(&rule.api_groups, group) && names(&rule.resources, resource))
    }
}

/// The hooks of the registration. Selectors are ignored: the rules leave alone what selectors exclude, and give the reason.
fn hooks(registration: Registration) -> Vec<Registered> {
    let webhooks = registration.mutating.and_then(|mutating| mutating.webhooks).unwrap_or_default();
    let registered = webhooks.into_iter().map(|webhook| {
        let url = webhook.client_config.url.unwrap_or_default();
        let path = url.split_once(NAME).map_or("/", |(_, path)| path);
        Registered {
            hook: Hook::mutating(&webhook.name, path)
                .timeout(Duration::from_secs(webhook.timeout_seconds.unwrap_or(10).unsigned_abs().into())),
            rules: webhook.rules.unwrap_or_default(),
        }
    });
    registered.collect()
}
