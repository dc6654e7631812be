//! The cluster of one test, and the operator in it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use operator_identity::{manifests, run, settings, widget};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use vestibule_identity::{Identity, NamespacedName, Policy, Source};
use vestibule_testenv::{Service, Session};

const NAME: &str = "widgets";

pub(crate) struct Cluster<'a> {
    env: &'a Session,
    pub(crate) admin: Client,
    pub(crate) namespace: String,
    service: Service,
}

/// A running operator, which ends when this is dropped.
pub(crate) struct Operator {
    pub(crate) identity: Arc<dyn Identity>,
    running: AbortHandle,
}

impl<'a> Cluster<'a> {
    pub(crate) async fn new(env: &'a Session) -> Self {
        let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
        let service = env.service(&namespace, NAME).await.unwrap();
        Self { env, admin: env.admin().unwrap(), namespace, service }
    }

    /// Starts the operator with only the rights of its manifests, and waits until it is ready.
    pub(crate) async fn operator(&self, source: &Source, policy: Policy) -> Operator {
        let service = NamespacedName { namespace: self.namespace.clone(), name: NAME.to_owned() };
        let objects = manifests::manifests(source, &service, self.service.port());
        drop(self.env.install(objects).await.unwrap());

        let kubeconfig = self.env.service_account_kubeconfig(&self.namespace, NAME).await.unwrap();
        let client = self.env.service_account(&self.namespace, NAME).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.service.add_replica(listener.local_addr().unwrap(), None).unwrap();
        let listener = (*source != Source::Off).then_some(listener);

        let mut settings = settings(service);
        settings.policy = policy;
        let identity = source.open(&settings, Some(&kubeconfig)).await.unwrap();
        let (namespace, shared) = (self.namespace.clone(), identity.clone());
        let running = tokio::spawn(async move { run(client, shared, listener, &namespace).await.unwrap() });
        let ready = tokio::time::timeout(Duration::from_secs(30), identity.ready()).await;
        assert!(ready.is_ok(), "{:?}", identity.status());
        Operator { identity, running: running.abort_handle() }
    }

    pub(crate) fn widgets(&self, version: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.admin.clone(), &self.namespace, &widget::resource(version))
    }

    pub(crate) async fn create(&self, version: &str, name: &str, spec: &Value) {
        let mut object = DynamicObject::new(name, &widget::resource(version));
        object.data = json!({ "spec": spec });
        self.widgets(version).create(&PostParams::default(), &object).await.unwrap();
    }

    pub(crate) async fn spec(&self, version: &str, name: &str) -> Result<Value, kube::Error> {
        self.widgets(version).get(name).await.map(|mut object| object.data["spec"].take())
    }

    /// The URL that the operator wrote for this widget.
    pub(crate) async fn url(&self, name: &str) -> Option<String> {
        let config_maps: Api<ConfigMap> = Api::namespaced(self.admin.clone(), &self.namespace);
        config_maps.get_opt(name).await.unwrap()?.data?.remove("url")
    }

    pub(crate) async fn secrets(&self) -> usize {
        let secrets: Api<Secret> = Api::namespaced(self.admin.clone(), &self.namespace);
        secrets.list(&ListParams::default()).await.unwrap().items.len()
    }

    /// The generation of the definition, which counts changes of its spec with the `caBundle`.
    pub(crate) async fn definition_generation(&self) -> i64 {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.admin.clone());
        definitions.get(widget::CRD).await.unwrap().metadata.generation.unwrap()
    }

    /// Requests a rotation as `kubectl annotate` would.
    pub(crate) async fn rotate(&self, wish: &str) {
        let secrets: Api<Secret> = Api::namespaced(self.admin.clone(), &self.namespace);
        let patch = json!({ "metadata": { "annotations": { "vestibule.dev/rotate": wish } } });
        let ring = format!("{NAME}-ring");
        secrets.patch(&ring, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
}

impl Operator {
    /// The number of CAs in the bundle.
    pub(crate) fn certificates(&self) -> usize {
        self.identity.ca_bundle().map_or(0, |bundle| bundle.matches("BEGIN CERTIFICATE").count())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.running.abort();
    }
}

pub(crate) async fn until(what: &str, is_so: impl AsyncFnMut() -> bool) {
    vestibule_testenv::until(what, Duration::from_secs(60), is_so).await.unwrap();
}
