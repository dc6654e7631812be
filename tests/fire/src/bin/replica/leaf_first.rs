//! The wrong order of a rotation, which makes the soak fail: a new CA signs as soon as the Secret holds it, and the
//! configurations follow. Operators that reconcile their certificate before their registration do this.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use fire::ROTATE;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use rustls_pki_types::UnixTime;
use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_identity::{Identity, Leaf, NamespacedName, Settings, Status};
use vestibule_pki::Authority;

use crate::Arguments;

pub(crate) fn start(client: Client, arguments: &Arguments) -> Arc<dyn Identity> {
    let named = |name: &str| NamespacedName { namespace: arguments.namespace.clone(), name: name.to_owned() };
    let order = Arc::new(LeafFirst {
        secrets: Api::namespaced(client.clone(), &arguments.namespace),
        configurations: Api::all(client),
        secret: arguments.secret.clone(),
        registration: arguments.registration.rsplit('/').next().unwrap_or_default().to_owned(),
        service: arguments.service.clone(),
        names: Settings::for_service(named(&arguments.service)).all_names(),
        authority_life: arguments.timing.authority_life(),
        leaf_life: arguments.timing.leaf_life(),
        delay: arguments.timing.bundle_delay(),
        state: Mutex::default(),
    });
    tokio::spawn(Arc::clone(&order).keep());
    order
}

struct LeafFirst {
    secrets: Api<Secret>,
    configurations: Api<MutatingWebhookConfiguration>,
    secret: String,
    registration: String,
    service: String,
    names: Vec<String>,
    authority_life: Duration,
    leaf_life: Duration,
    delay: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    leaf: Option<Arc<Leaf>>,
    /// The signing CA.
    certificate: String,
    published: bool,
}

impl Identity for LeafFirst {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).leaf.clone()
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.published.then(|| Arc::from(state.certificate.as_str()))
    }

    fn status(&self) -> Status {
        let published = self.state.lock().unwrap_or_else(PoisonError::into_inner).published;
        let mut status = Status::default();
        status.waiting_for = (!published).then(|| "the bundle".to_owned());
        status
    }
}

impl LeafFirst {
    async fn keep(self: Arc<Self>) {
        const PERIOD: Duration = Duration::from_millis(200);
        loop {
            if let Err(error) = self.reconcile().await {
                tracing::warn!("{error:#}");
            }
            sleep(PERIOD).await;
        }
    }

    async fn reconcile(&self) -> anyhow::Result<()> {
        let stored = self.secrets.get_opt(&self.secret).await?;
        let asked = stored.as_ref().and_then(|secret| secret.metadata.annotations.as_ref()?.get(ROTATE));
        let field = |name: &str| {
            let bytes = stored.as_ref()?.data.as_ref()?.get(name)?;
            String::from_utf8(bytes.0.clone()).ok()
        };
        let (certificate, key) = match (field("ca.crt"), field("ca.key")) {
            (Some(certificate), Some(key)) if field("answered") == asked.cloned() => (certificate, key),
            _ => return self.replace(stored.clone(), asked).await,
        };
        self.sign(&certificate, &key)?;
        self.publish(&certificate).await
    }

    /// Replaces the CA; another replica may have replaced it first.
    async fn replace(&self, stored: Option<Secret>, asked: Option<&String>) -> anyhow::Result<()> {
        let (seconds, now) = now();
        let authority = Authority::new(&format!("leaf first {seconds}"), now, self.authority_life)?;
        let mut data = BTreeMap::from([
            ("ca.crt".to_owned(), ByteString(authority.certificate_pem().as_bytes().to_vec())),
            ("ca.key".to_owned(), ByteString(authority.key_pem().as_bytes().to_vec())),
        ]);
        data.extend(asked.map(|asked| ("answered".to_owned(), ByteString(asked.clone().into_bytes()))));
        let exists = stored.is_some();
        let metadata = ObjectMeta { name: Some(self.secret.clone()), ..ObjectMeta::default() };
        let mut secret = stored.unwrap_or_else(|| Secret { metadata, ..Secret::default() });
        secret.data = Some(data);
        let parameters = PostParams::default();
        let written = if exists {
            self.secrets.replace(&self.secret, &parameters, &secret).await
        } else {
            self.secrets.create(&parameters, &secret).await
        };
        match written {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            other => other.map(drop).context("write the Secret"),
        }
    }

    /// Signs a leaf with the new CA and serves it at once.
    fn sign(&self, certificate: &str, key: &str) -> anyhow::Result<()> {
        let (seconds, now) = now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let third = self.leaf_life.as_secs() / 3;
        let fresh = state.leaf.as_ref().is_some_and(|leaf| leaf.not_after.as_secs() > seconds + third);
        if !fresh || state.certificate != certificate {
            let leaf = Authority::from_pem(certificate, key)?.issue(&self.names, now, self.leaf_life)?;
            state.leaf = Some(Arc::new(leaf));
            certificate.clone_into(&mut state.certificate);
        }
        Ok(())
    }

    async fn publish(&self, certificate: &str) -> anyhow::Result<()> {
        let configuration = self.configurations.get(&self.registration).await?;
        let hooks = configuration.webhooks.iter().flatten();
        let ours = hooks.filter(|hook| {
            hook.client_config.service.as_ref().is_some_and(|service| service.name == self.service)
        });
        let trusts = |bundle: &Option<ByteString>| {
            bundle.as_ref().is_some_and(|bundle| bundle.0 == certificate.as_bytes())
        };
        let stale = ours.filter(|hook| !trusts(&hook.client_config.ca_bundle));
        let bundle = ByteString(certificate.as_bytes().to_vec());
        let news: Vec<Value> =
            stale.map(|hook| json!({ "name": hook.name, "clientConfig": { "caBundle": bundle } })).collect();
        if news.is_empty() {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).published = true;
            return Ok(());
        }
        sleep(self.delay).await;
        let patch = Patch::Strategic(json!({ "webhooks": news }));
        self.configurations.patch(&self.registration, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

fn now() -> (u64, UnixTime) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), UnixTime::since_unix_epoch(since))
}
