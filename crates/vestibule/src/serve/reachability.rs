//! Checks that calls of the API server to a target arrive in this process, before the hooks are registered there.
//!
//! [`serve`](crate::serve) checks this for processes outside the cluster, where the Service may lead to other pods, or to none. The
//! check makes a ValidatingWebhookConfiguration for one ConfigMap, creates that ConfigMap as a dry run, and deletes the
//! configuration.

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
use vestibule_identity::{Identity, with_causes};

use crate::registration::target::Target;

/// The first segment of the webhook's name and path, and the end of the configuration's name.
const REACH: &str = "reach";
/// The label of the configuration and of the one object that the webhook is called for. Its value is the token.
const LABEL: &str = "vestibule.dev/reach";
/// A configuration that is older was left behind by a process that has ended: a check takes half of this at most.
const LEFT_BEHIND: SignedDuration = SignedDuration::from_secs(60);
/// How long an API server may take to call the webhook of a new configuration.
const PROPAGATION: Duration = Duration::from_secs(10);
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The timeout of one request, which includes a call of the webhook.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between two checks; it doubles up to `LONGEST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The configurations that a deletion may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deletes {
    OwnOnly,
    LeftBehindToo,
}

/// The check of one process.
pub(crate) struct ReachCheck {
    client: Client,
    target: Target,
    app: String,
    /// Random, so that no other process answers with it.
    token: String,
    /// Whether the configuration may exist.
    may_exist: AtomicBool,
}

impl ReachCheck {
    pub(crate) fn new(client: Client, target: Target, app: &str) -> Self {
        let [one, other] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        let token = format!("{one:016x}{other:016x}");
        Self { client, target, app: app.to_owned(), token, may_exist: AtomicBool::new(false) }
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

    /// Repeats the check until a call arrives here, and logs why it does not.
    pub(crate) async fn wait_until_reached(&self, identity: &dyn Identity) {
        let mut pause = FIRST_PAUSE;
        let mut logged = None;
        loop {
            let bundle = identity.ca_bundle().unwrap_or_default();
            let outcome = self.check(&bundle).await;
            self.withdraw().await;
            let target = &self.target;
            match outcome {
                Ok(()) => {
                    tracing::info!(%target, "the API server reaches this process; its webhooks are registered now");
                    return;
                }
                // The same reason is logged once.
                Err(why) if logged.as_deref() == Some(&*why) => {}
                Err(why) => {
                    tracing::warn!(
                        %target,
                        "webhooks are not registered: the API server was asked to call {target}, and the call did not arrive \
                         in this process: {why}"
                    );
                    logged = Some(why);
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Deletes the configuration of this process, if it exists.
    pub(crate) async fn withdraw(&self) {
        if !self.may_exist.load(Ordering::Relaxed) {
            return;
        }
        match self.delete(Deletes::OwnOnly).await {
            Ok(()) => self.may_exist.store(false, Ordering::Relaxed),
            Err(why) => {
                let name = self.name();
                tracing::warn!("ValidatingWebhookConfiguration {name} is left behind: {why}; delete it");
            }
        }
    }

    /// Deletes the configuration of this process, or one that an ended process of this app left behind.
    ///
    /// # Errors
    /// It belongs to another app or to a process that is checking now, or the API server does not delete it.
    async fn delete(&self, deletes: Deletes) -> Result<(), String> {
        let (configurations, name) = (self.configurations(), self.name());
        let found = answered(configurations.get_opt(&name)).await?;
        let Some(found) = found.map_err(|error| with_causes(&error))? else { return Ok(()) };
        let token = found.metadata.labels.as_ref().and_then(|labels| labels.get(LABEL));
        if token != Some(&self.token) {
            if deletes == Deletes::OwnOnly {
                return Ok(());
            }
            if token.is_none() {
                return Err(format!(
                    "ValidatingWebhookConfiguration {name} is in the way, and was not made for this; rename the app or that object"
                ));
            }
            let made = found.metadata.creation_timestamp.as_ref();
            if made.is_some_and(|made| made.0 > Timestamp::now() - LEFT_BEHIND) {
                return Err("another process of this app checks at the moment".to_owned());
            }
        }
        let preconditions = Preconditions { uid: found.metadata.uid, resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match answered(configurations.delete(&name, &params)).await? {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(with_causes(&error)),
            Ok(_) => Ok(()),
        }
    }

    async fn check(&self, bundle: &str) -> Result<(), String> {
        self.delete(Deletes::LeftBehindToo).await?;
        self.may_exist.store(true, Ordering::Relaxed);
        let configuration = self.configuration(bundle);
        let made = answered(self.configurations().create(&PostParams::default(), &configuration)).await?;
        made.map_err(|error| {
            format!("ValidatingWebhookConfiguration {}: {}", self.name(), with_causes(&error))
        })?;
        let end = Instant::now() + PROPAGATION;
        let object = ConfigMap { metadata: self.metadata(), ..ConfigMap::default() };
        let params = PostParams { dry_run: true, ..PostParams::default() };
        loop {
            match answered(self.objects().create(&params, &object)).await? {
                Err(error) => {
                    let text = with_causes(&error);
                    return if text.contains(&self.token) && text.contains("denied the request") {
                        Ok(())
                    } else {
                        // The path holds the token.
                        Err(text.replace(&self.token, "..."))
                    };
                }
                Ok(_) if Instant::now() >= end => {
                    return Err(format!("it called no webhook within {} s", PROPAGATION.as_secs()));
                }
                // The API server does not know the configuration yet.
                Ok(_) => sleep(RETRY_PAUSE).await,
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

    /// The metadata of the configuration and of the object that the webhook is called for.
    fn metadata(&self) -> ObjectMeta {
        let labels = [(LABEL.to_owned(), self.token.clone())].into();
        ObjectMeta { name: Some(self.name()), labels: Some(labels), ..ObjectMeta::default() }
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
            // With `Fail` the API server reports why a call failed. No other object has the label.
            failure_policy: Some("Fail".to_owned()),
            object_selector: Some(LabelSelector {
                match_labels: self.metadata().labels,
                ..LabelSelector::default()
            }),
            rules: Some(vec![rule]),
            side_effects: "None".to_owned(),
            timeout_seconds: i32::try_from(Self::TIMEOUT.as_secs()).ok(),
            ..ValidatingWebhook::default()
        };
        ValidatingWebhookConfiguration { metadata: self.metadata(), webhooks: Some(vec![webhook]) }
    }
}

/// Denies the one object with the token.
struct Answer(String);

impl Handler for Answer {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: std::time::Instant) -> HandlerFuture<'a> {
        Box::pin(async { Denial::new(self.0.clone()).into() })
    }
}

/// # Errors
/// There is no answer in time.
async fn answered<A>(request: impl Future<Output = kube::Result<A>>) -> Result<kube::Result<A>, String> {
    let no_answer = |_| format!("the API server did not answer within {} s", REQUEST_TIMEOUT.as_secs());
    timeout(REQUEST_TIMEOUT, request).await.map_err(no_answer)
}
