//! Whether calls of the API server arrive in this process: asked of the API server itself, before it is told to call.
//!
//! [`serve`](crate::serve) asks for processes outside the cluster, where nothing else ties the Service to this process. A
//! configuration of its own, with one validating webhook for one object that is never stored, is there for as long as the
//! question takes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ValidatingWebhook, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};
use vestibule_admission::{Denial, Handler, HandlerFuture, Hook, Request};
use vestibule_identity::Identity;

use crate::registration::target::Target;

/// The first segment of the webhook's name and path, and the end of the configuration's name.
const REACH: &str = "reach";
/// The label of the configuration and of the one object that the webhook is called for. Its value is the token.
const LABEL: &str = "vestibule.dev/reach";
/// A configuration this old belongs to no process that still asks: asking takes half of this at most.
const LEFT_BEHIND: SignedDuration = SignedDuration::from_secs(60);
/// How long an API server may take to learn of a configuration.
const NOTICE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// For one request, which carries a call within.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between one question and the next.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// The configurations that may be deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    OwnOnly,
    LeftBehindToo,
}

/// The question, and what this process answers to it.
pub(crate) struct Reach {
    client: Client,
    target: Target,
    app: String,
    /// Known to this process alone, so no other process gives it.
    token: String,
    /// The configuration is there, or may be.
    is_asking: AtomicBool,
}

impl Reach {
    pub(crate) fn new(client: Client, target: Target, app: &str) -> Self {
        let [one, other] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        let token = format!("{one:016x}{other:016x}");
        Self { client, target, app: app.to_owned(), token, is_asking: AtomicBool::new(false) }
    }

    pub(crate) fn path(&self) -> String {
        format!("/{REACH}/{}", self.token)
    }

    /// The hook that is served at the path.
    pub(crate) fn hook(&self) -> Hook {
        Hook::validating(REACH, Answer(self.token.clone()))
    }

    /// How long the API server waits for it.
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

    /// Asks until a call arrives here, and tells in the log what keeps it from that.
    pub(crate) async fn reached(&self, identity: &dyn Identity) {
        let mut rest = FIRST_REST;
        let mut told = None;
        loop {
            let bundle = identity.ca_bundle().unwrap_or_default();
            let outcome = self.ask(&bundle).await;
            self.withdraw().await;
            let target = &self.target;
            match outcome {
                Ok(()) => {
                    tracing::info!(%target, "the API server reaches this process; its webhooks are registered now");
                    return;
                }
                // The same again every half minute would say nothing more.
                Err(why) if told.as_deref() == Some(&*why) => {}
                Err(why) => {
                    tracing::warn!(
                        %target,
                        "webhooks are not registered: the API server was asked to call {target}, and the call did not arrive \
                         in this process: {why}"
                    );
                    told = Some(why);
                }
            }
            sleep(rest).await;
            rest = (rest * 2).min(LONGEST_REST);
        }
    }

    /// Deletes the configuration of this process, if it exists.
    pub(crate) async fn withdraw(&self) {
        if !self.is_asking.load(Ordering::Relaxed) {
            return;
        }
        match self.delete(Whose::OwnOnly).await {
            Ok(()) => self.is_asking.store(false, Ordering::Relaxed),
            Err(why) => {
                let name = self.name();
                tracing::warn!("ValidatingWebhookConfiguration {name} is left behind: {why}; delete it");
            }
        }
    }

    /// Deletes the configuration if it is of this process, or if a process of this app left it behind.
    ///
    /// # Errors
    /// It is of another app or of a process that still asks, or the API server does not delete it.
    async fn delete(&self, whose: Whose) -> Result<(), String> {
        let (configurations, name) = (self.configurations(), self.name());
        let found = timeout(PATIENCE, configurations.get_opt(&name)).await.map_err(|_| no_answer())?;
        let Some(found) = found.map_err(|error| said(&error))? else { return Ok(()) };
        let token = found.metadata.labels.as_ref().and_then(|labels| labels.get(LABEL));
        if token != Some(&self.token) {
            if whose == Whose::OwnOnly {
                return Ok(());
            }
            if token.is_none() {
                return Err(format!(
                    "ValidatingWebhookConfiguration {name} is in the way, and was not made for this; rename the app or that object"
                ));
            }
            let made = found.metadata.creation_timestamp.as_ref();
            if made.is_some_and(|made| made.0 > Timestamp::now() - LEFT_BEHIND) {
                return Err("another process of this app asks at the moment".to_owned());
            }
        }
        let preconditions = Preconditions { uid: found.metadata.uid, resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match timeout(PATIENCE, configurations.delete(&name, &params)).await {
            Err(_) => Err(no_answer()),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(()),
            Ok(Err(error)) => Err(said(&error)),
            Ok(Ok(_)) => Ok(()),
        }
    }

    async fn ask(&self, bundle: &str) -> Result<(), String> {
        self.delete(Whose::LeftBehindToo).await?;
        self.is_asking.store(true, Ordering::Relaxed);
        let configuration = self.configuration(bundle);
        let made =
            timeout(PATIENCE, self.configurations().create(&PostParams::default(), &configuration)).await;
        let made = made.map_err(|_| no_answer())?;
        made.map_err(|error| format!("ValidatingWebhookConfiguration {}: {}", self.name(), said(&error)))?;
        let end = Instant::now() + NOTICE;
        let object = self.object();
        let params = PostParams { dry_run: true, ..PostParams::default() };
        loop {
            match timeout(PATIENCE, self.objects().create(&params, &object)).await {
                Err(_) => return Err(no_answer()),
                Ok(Err(error)) => {
                    let said = said(&error);
                    return if said.contains(&self.token) && said.contains("denied the request") {
                        Ok(())
                    } else {
                        // The path holds the token.
                        Err(said.replace(&self.token, "..."))
                    };
                }
                Ok(Ok(_)) if Instant::now() >= end => {
                    return Err(format!("it called no webhook within {} s", NOTICE.as_secs()));
                }
                // It has not learnt of the configuration yet.
                Ok(Ok(_)) => sleep(PAUSE).await,
            }
        }
    }

    fn name(&self) -> String {
        format!("{}-{REACH}", self.app)
    }

    fn configurations(&self) -> Api<ValidatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }

    fn objects(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), self.target.own_namespace().unwrap_or("default"))
    }

    fn labels(&self) -> BTreeMap<String, String> {
        [(LABEL.to_owned(), self.token.clone())].into()
    }

    fn object(&self) -> ConfigMap {
        let metadata =
            ObjectMeta { name: Some(self.name()), labels: Some(self.labels()), ..ObjectMeta::default() };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn configuration(&self, bundle: &str) -> ValidatingWebhookConfiguration {
        let only = |word: &str| Some(vec![word.to_owned()]);
        let rule = RuleWithOperations {
            api_groups: only(""),
            api_versions: only("v1"),
            operations: only("CREATE"),
            resources: only("configmaps"),
            scope: Some("Namespaced".to_owned()),
        };
        let webhook = ValidatingWebhook {
            name: format!("{REACH}.{}.vestibule.dev", self.app),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: self.target.client_config(&self.path(), bundle),
            // Only so does the API server tell why a call failed; and no other object has the label.
            failure_policy: Some("Fail".to_owned()),
            object_selector: Some(LabelSelector {
                match_labels: Some(self.labels()),
                ..LabelSelector::default()
            }),
            rules: Some(vec![rule]),
            side_effects: "None".to_owned(),
            timeout_seconds: i32::try_from(Self::TIMEOUT.as_secs()).ok(),
            ..ValidatingWebhook::default()
        };
        let metadata =
            ObjectMeta { name: Some(self.name()), labels: Some(self.labels()), ..ObjectMeta::default() };
        ValidatingWebhookConfiguration { metadata, webhooks: Some(vec![webhook]) }
    }
}

/// Denies the one object with the token.
struct Answer(String);

impl Handler for Answer {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: std::time::Instant) -> HandlerFuture<'a> {
        Box::pin(async { Denial::new(self.0.clone()).into() })
    }
}

fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

fn no_answer() -> String {
    format!("the API server did not answer within {} s", PATIENCE.as_secs())
}
