//! Finds out when the API server acts on a webhook configuration.
//!
//! The API server learns of webhook configurations by a watch, some milliseconds after they were
//! written, and does not report it. So each configuration gets one more hook, which denies
//! marker objects of its own: once a marker is denied, the whole configuration is live.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::error::Error;
use crate::poll;
use crate::recorder::{Answer, Recorder};

/// The server that denies markers.
pub(crate) struct Markers {
    denier: Recorder,
}

impl Markers {
    pub(crate) fn start() -> Result<Self, Error> {
        let denier = Recorder::start(&[], |seen| {
            let label = &seen.review()["request"]["object"]["metadata"]["labels"][LABEL];
            Answer::Deny(denial(label.as_str().unwrap_or_default()))
        })?;
        Ok(Self { denier })
    }

    /// Creates the namespace for markers, which holds no other objects.
    pub(crate) async fn prepare(&self, client: &Client) -> Result<(), Error> {
        let metadata = ObjectMeta { name: Some(NAMESPACE.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let made = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
        made.map(drop).map_err(Error::api(format!("create namespace {NAMESPACE}")))
    }

    /// A hook for a Mutating- or ValidatingWebhookConfiguration that denies the markers called `marker`.
    pub(crate) fn hook(&self, marker: &str) -> Value {
        json!({
            "name": "is-ready.testenv.vestibule.dev",
            "clientConfig": { "url": self.denier.url("/is-ready"), "caBundle": self.denier.ca_bundle() },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": NAMESPACE } },
            "objectSelector": { "matchLabels": { LABEL: marker } },
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
        })
    }
}

/// Waits until `marker` is denied, which means that its configuration is live; or, unless `live`, until it is no longer denied.
pub(crate) async fn wait(client: &Client, marker: &str, live: bool) -> Result<(), Error> {
    let markers: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let object = ConfigMap {
        metadata: ObjectMeta {
            generate_name: Some("marker-".to_owned()),
            labels: Some([(LABEL.to_owned(), marker.to_owned())].into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let what = if live { "the configuration being live" } else { "the configuration being gone" };
    let mut last_answer = String::new();
    let waited = poll::retry(what, TIMEOUT_SECONDS, async || {
        let denied = match markers.create(&dry_run, &object).await {
            Ok(_) => false,
            Err(kube::Error::Api(status)) if status.message.contains(&denial(marker)) => true,
            // Proves nothing: another hook denied the marker, or the API server does not answer.
            Err(other) => {
                last_answer = format!(" (the last answer: {other})");
                return Ok(None);
            }
        };
        Ok((denied == live).then_some(()))
    });
    waited.await.map_err(|error| match error {
        Error::Late { what, seconds } => Error::Late { what: what + &last_answer, seconds },
        other => other,
    })
}

fn denial(marker: &str) -> String {
    format!("marker {marker} is seen")
}

/// Longer than any test lets an API server lag.
const TIMEOUT_SECONDS: u64 = 60;

const NAMESPACE: &str = "testenv-markers";
const LABEL: &str = "testenv.vestibule.dev/marker";
