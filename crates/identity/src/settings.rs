//! The settings of an identity.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::ApiResource;
use vestibule_pki::ring::{Algorithm, Policy};

use crate::rbac_rule::{event_rule, policy_rule};
use crate::{Desired, DesiredUpdates, NamespacedName, Observer, RegistrationName};

/// The namespace of Events about objects outside namespaces.
const EVENTS_OF_THE_CLUSTER: &str = "default";

/// The settings of an identity. [`Settings::for_service`] and a few fields are enough for most.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The Service in front of the server: `NAME.NS.svc` and `NAME.NS.svc.DOMAIN` are in the certificate, and entries
    /// of registered configurations that name this Service are ours.
    pub service: Option<NamespacedName>,
    /// Further DNS names and IP addresses for the certificate.
    pub names: Vec<String>,
    /// The cluster's DNS domain.
    pub cluster_domain: String,
    /// The Secret that holds the ring.
    pub secret: Option<NamespacedName>,
    /// The configurations whose `caBundle` is kept.
    pub registrations: Vec<RegistrationName>,
    /// The desired entries of registered objects that are installed without entries: the registration mode `managed`.
    /// Readiness does not wait for an object that is not among the registrations; an empty list removes the entries that an
    /// earlier version wrote.
    pub desired: Vec<Desired>,
    /// Changes the desired entries later. A value that was sent before the start replaces `desired`.
    pub updates: Option<DesiredUpdates>,
    /// How long after [`serving`](crate::Identity::serving) the desired entries are written: the readiness probe, the endpoints of
    /// the Service and the node proxies take this time.
    pub settle: Duration,
    /// The name of this program towards the API server: the field manager of its writes, the source of its Events, and the
    /// label `app.kubernetes.io/managed-by` of a new Secret. All replicas must have the same.
    pub manager: String,
    /// The organisation in the name of every CA.
    pub organisation: String,
    /// The kind of key that new CAs get.
    pub algorithm: Algorithm,
    /// Lives and waits.
    pub policy: Policy,
    /// The names of mounted files, and how often they are read.
    pub mounted: MountedFiles,
    /// Receives the events of the identity.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            service: None,
            names: Vec::new(),
            cluster_domain: "cluster.local".to_owned(),
            secret: None,
            registrations: Vec::new(),
            desired: Vec::new(),
            updates: None,
            settle: Duration::from_secs(10),
            manager: "vestibule".to_owned(),
            organisation: "vestibule".to_owned(),
            algorithm: Algorithm::default(),
            policy: Policy::default(),
            mounted: MountedFiles::default(),
            observer: None,
        }
    }
}

impl Settings {
    /// For a server behind this Service; its ring is the Secret `NAME-ring` beside it.
    #[must_use]
    pub fn for_service(service: NamespacedName) -> Self {
        let secret =
            NamespacedName { namespace: service.namespace.clone(), name: format!("{}-ring", service.name) };
        Self { service: Some(service), secret: Some(secret), ..Self::default() }
    }

    /// Every watched object, the registrations first.
    pub(crate) fn watched(&self) -> impl Iterator<Item = RegistrationName> {
        let desired = self.desired.iter().map(Desired::registration);
        let others = desired.filter(|name| !self.registrations.contains(name));
        self.registrations.iter().chain(others).cloned()
    }

    /// The rights that [`SelfManaged`](crate::SelfManaged) needs with these settings, each with its namespace; [`None`] is
    /// every namespace. No rule has a wildcard, and each is restricted to object names if the API server can check them.
    ///
    /// ```
    /// use vestibule_identity::Settings;
    ///
    /// let mut settings = Settings::for_service("demo/widgets".parse()?);
    /// settings.registrations = vec!["crd/widgets.example.dev".parse()?];
    /// let rules = settings.policy_rules();
    /// let (namespace, rule) = rules.last().ok_or("no rule")?;
    /// assert_eq!((namespace, &rule.verbs[3]), (&None, &"patch".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn policy_rules(&self) -> Vec<(Option<String>, PolicyRule)> {
        let Some(secret) = &self.secret else { return Vec::new() };
        let home = Some(secret.namespace.clone());
        let mut rules = vec![
            (home.clone(), policy_rule("", "secrets", &["get", "list", "watch", "update"], &[&secret.name])),
            // RBAC does not know the name of an object that is created.
            (home.clone(), policy_rule("", "secrets", &["create"], &[])),
            (home.clone(), event_rule()),
        ];
        if secret.namespace != EVENTS_OF_THE_CLUSTER {
            rules.push((Some(EVENTS_OF_THE_CLUSTER.to_owned()), event_rule()));
        }
        let mut kinds = BTreeMap::<_, Vec<_>>::new();
        let watched: Vec<_> = self.watched().collect();
        for RegistrationName { kind, name } in &watched {
            kinds.entry(*kind).or_default().push(&**name);
        }
        rules.extend(kinds.into_iter().map(|(kind, names)| {
            let ApiResource { group, plural, .. } = kind.resource();
            (None, policy_rule(&group, &plural, &["get", "list", "watch", "patch"], &names))
        }));
        rules
    }

    /// Every name that the certificate is for, the Service's first.
    #[must_use]
    pub fn all_names(&self) -> Vec<String> {
        let service = self.service.iter().flat_map(|service| service.dns_names(&self.cluster_domain));
        service.chain(self.names.iter().cloned()).collect()
    }
}

/// The names of the files of [`Mounted`](crate::Mounted), and how often they are read.
///
/// ```
/// use vestibule_identity::MountedFiles;
///
/// let files = MountedFiles { certificate: "server.crt".into(), key: "server.key".into(), ..MountedFiles::default() };
/// assert_eq!(files.authority, "ca.crt");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedFiles {
    /// The certificate chain in PEM, the leaf first: `tls.crt`.
    pub certificate: String,
    /// The leaf's key in PEM: `tls.key`.
    pub key: String,
    /// The CAs in PEM, for `caBundle`: `ca.crt`. Without it there is no `caBundle`.
    pub authority: String,
    /// The time between two reads: 1 second.
    pub poll: Duration,
}

impl Default for MountedFiles {
    fn default() -> Self {
        Self {
            certificate: "tls.crt".to_owned(),
            key: "tls.key".to_owned(),
            authority: "ca.crt".to_owned(),
            poll: Duration::from_secs(1),
        }
    }
}
