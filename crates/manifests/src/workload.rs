//! The ServiceAccount, the ConfigMaps and the Deployment.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule::identity::{NamespacedName, RegistrationName, Settings, Source};

use super::{Files, Installation};
use vestibule::{App, Target};

/// The user that pods run as. No distribution gives this id to an account of its own.
const USER: u32 = 65532;
/// The time between the end of a drain and the end of the process, on a slow machine.
const AFTER_THE_DRAIN: Duration = Duration::from_secs(25);

/// An app and the installation that its pods belong to.
pub(super) struct Pods<'i> {
    pub(super) app: &'i App,
    pub(super) installation: &'i Installation,
    pub(super) image: &'i str,
    pub(super) namespace: &'i str,
}

impl Pods<'_> {
    /// The account of the pods, unless the installation names one. Its token is mounted only into pods that ask for it.
    pub(super) fn service_account(&self) -> Option<Value> {
        if self.installation.account.is_some() {
            return None;
        }
        let NamespacedName { namespace, name } = self.installation.service_account()?;
        Some(json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
            "automountServiceAccountToken": false,
        }))
    }

    pub(super) fn deployment(&self) -> Value {
        let installation = self.installation;
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": installation.name, "namespace": self.namespace},
            "spec": {
                "replicas": installation.replicas,
                "selector": {"matchLabels": self.labels()},
                // An old pod stays until a new one is ready, so that the API server always reaches a replica.
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
                "template": {"metadata": self.pod_metadata(), "spec": self.pod()},
            },
        })
    }

    pub(super) fn files(&self) -> Vec<Value> {
        let files = self.installation.files.iter();
        files.map(|files| files.config_map(&self.installation.name, self.namespace)).collect()
    }

    /// The labels by which Service, NetworkPolicy and Deployment select the pods.
    pub(super) fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": self.installation.name})
    }

    pub(super) fn speak_to_the_cluster(&self) -> bool {
        self.installation.followed_log_config_map(self.app).is_some()
            || self.installation.speaks_to_the_cluster(self.app)
    }

    fn pod_metadata(&self) -> Value {
        let installation = self.installation;
        let mut metadata = json!({"labels": installation.pod_labels});
        metadata["labels"]["app.kubernetes.io/name"] = json!(installation.name);
        for files in &installation.files {
            metadata["annotations"][format!("vestibule.dev/{}-digest", files.name)] = json!(files.digest());
        }
        metadata
    }

    fn pod(&self) -> Value {
        let installation = self.installation;
        let spread = |topology: &str| {
            json!({
                "maxSkew": 1,
                "topologyKey": topology,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": self.labels()},
            })
        };
        let grace = installation.drain_timeout + AFTER_THE_DRAIN;
        let mut pod = json!({
            "serviceAccountName": installation.service_account().map(|account| account.name),
            "automountServiceAccountToken": self.speak_to_the_cluster(),
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": grace.as_millis().div_ceil(1000) as u64,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "topologySpreadConstraints": [spread("kubernetes.io/hostname"), spread("topology.kubernetes.io/zone")],
            "containers": [self.container()],
        });
        if let Some(class) = &installation.priority_class {
            pod["priorityClassName"] = json!(class);
        }
        if installation.host_network {
            pod["hostNetwork"] = json!(true);
            pod["dnsPolicy"] = json!("ClusterFirstWithHostNet");
        }
        let mut volumes: Vec<_> =
            installation.files.iter().map(|files| files.volume(&installation.name)).collect();
        if let Source::Mounted(_) = installation.identity {
            let secret = installation.mounted_secret.clone();
            let secret = secret.unwrap_or_else(|| format!("{}-tls", installation.name));
            let secret = json!({"secretName": secret, "defaultMode": 0o440});
            volumes.push(json!({"name": "certificate", "secret": secret}));
        }
        if !volumes.is_empty() {
            pod["volumes"] = json!(volumes);
        }
        pod
    }

    fn container(&self) -> Value {
        let installation = self.installation;
        let probe = |path: &str, period: u8| json!({"httpGet": {"path": path, "port": "plain"}, "periodSeconds": period, "timeoutSeconds": 5});
        let namespace = json!({"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}});
        let env = installation.env.iter().map(|(name, value)| json!({"name": name, "value": value}));
        let env: Vec<_> = std::iter::once(namespace).chain(env).collect();
        let mut container = json!({
            "name": "webhook",
            "image": self.image,
            "args": self.arguments(),
            "env": env,
            "ports": [
                {"name": "https", "containerPort": installation.pod_port(), "protocol": "TCP"},
                {"name": "plain", "containerPort": installation.pod_plain_port(), "protocol": "TCP"},
            ],
            // The probe depends neither on load nor on the API server: a restart would mend neither.
            "livenessProbe": probe("/livez", 10),
            "readinessProbe": probe("/readyz", 2),
            "resources": {
                "requests": {"cpu": "10m", "memory": "24Mi"},
                // No limit of CPU: a throttled webhook delays every write that it is asked about. Memory: the bodies
                // that are read at once (`Settings::max_bodies`), the same again to work on them, 160 MiB for the
                // largest number of connections, and the rest for the conversion of a whole list.
                "limits": {"memory": "384Mi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
        });
        let mut mounts: Vec<_> = installation.files.iter().map(Files::mount).collect();
        if let Source::Mounted(folder) = &installation.identity {
            let folder = folder.display().to_string();
            mounts.push(json!({"name": "certificate", "mountPath": folder, "readOnly": true}));
        }
        if !mounts.is_empty() {
            container["volumeMounts"] = json!(mounts);
        }
        container
    }

    /// The arguments of `serve` that agree with the other objects: identity, Service, registrations, ports.
    fn arguments(&self) -> Vec<String> {
        let installation = self.installation;
        let mut arguments = vec!["serve".to_owned()];
        let mut flag = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
        flag("identity", installation.identity.to_string());
        flag(
            "service",
            match &installation.target {
                Target::Service { namespace, name, port: 443 } => format!("{namespace}/{name}"),
                other => other.to_string(),
            },
        );
        // With another identity `serve` refuses this flag.
        if let (Source::SelfManaged, Some(secret)) = (&installation.identity, &installation.secret) {
            flag("secret", secret.to_string());
        }
        if let Some(name) = &installation.log_config_map {
            flag("log-config-map", name.clone());
        }
        for registration in self.registrations() {
            flag("registration", registration.to_string());
        }
        if let Some(mode) = installation.registration_mode {
            flag("registration-mode", mode.to_string());
        }
        flag("port", installation.pod_port().to_string());
        flag("metrics-listen", format!("[::]:{}", installation.pod_plain_port()));
        let (identity, server) = (Settings::default(), vestibule::server::Settings::default());
        if installation.cluster_domain != identity.cluster_domain {
            flag("cluster-domain", installation.cluster_domain.clone());
        }
        for (name, span, default) in [
            ("drain-delay", installation.drain_delay, server.drain_delay),
            ("drain-timeout", installation.drain_timeout, server.drain_timeout),
        ] {
            if span != default {
                flag(name, format!("{}ms", span.as_millis()));
            }
        }
        arguments.extend(installation.arguments.iter().cloned());
        arguments
    }

    /// The configurations that `serve` would not name by default.
    fn registrations(&self) -> Vec<RegistrationName> {
        let Installation { name, registrations, identity, .. } = self.installation;
        match registrations {
            _ if *identity != Source::SelfManaged => Vec::new(),
            Some(given) => given.clone(),
            None if name != self.app.name() => self.app.registration_names(name),
            None => Vec::new(),
        }
    }
}
