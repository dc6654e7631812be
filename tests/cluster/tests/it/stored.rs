//! Rules evaluated again, on the objects that the API server has stored.
//!
//! Between two calls the API server fills in defaults, omits zero values and writes quantities in another form. Rules take the
//! stored object for their own result: a second evaluation changes nothing and finds no conflict.

use serde_json::{Value, json};
use vestibule_admission::keys::schema;
use vestibule_patch::Document;
use vestibule_rules::{Outcome, Resource, RuleSet, Subject, Verb};

use crate::cluster::{Cluster, Namespace};
use crate::samples::{deployment, pod};

/// Members of a sidecar, and of a block of `containerPatches`.
const CONTAINERS: &[&str] = &[
    "resources: {requests: {cpu: 1000m, memory: 1024Mi, ephemeral-storage: 1e9}}",
    "resources: {requests: {cpu: 0.5, memory: 1.5Gi}}",
    "resources: {requests: {cpu: '+.5', memory: 2e3}}",
    "resources: {requests: {cpu: 0, memory: 12345678901234567890}}",
    "resources: {limits: {cpu: 1, example.com/device: 1}}",
    "resources: {requests: {cpu: 0.1m, memory: 100u}}",
    "resources: {requests: {cpu: 0.9m}, limits: {cpu: 100u}}",
    "resources: {limits: {cpu: 0.0001}}",
    "ports: [{containerPort: 80}]",
    "ports: [{containerPort: 80, protocol: '', hostPort: 0, hostIP: ''}]",
    "ports: [{containerPort: 80, protocol: UDP, hostPort: 80}]",
    "readinessProbe: {httpGet: {port: 80, path: '', scheme: '', host: '', httpHeaders: []}}",
    "readinessProbe: {tcpSocket: {port: http}, initialDelaySeconds: 0, timeoutSeconds: 0, periodSeconds: 0}",
    "readinessProbe: {grpc: {port: 80}, successThreshold: 0, failureThreshold: 0}",
    "livenessProbe: {grpc: {port: 80, service: ''}}",
    "startupProbe: {exec: {command: [a, '']}}",
    "terminationMessagePath: '', terminationMessagePolicy: ''",
    "imagePullPolicy: ''",
    "securityContext: {seLinuxOptions: {user: ''}, capabilities: {add: [A]}}",
    "securityContext: {privileged: false, procMount: Default, runAsUser: 0}",
    "stdin: false, stdinOnce: false, tty: false, workingDir: ''",
    "env: [{name: A, value: ''}, {name: B}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: ''}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1024Ki}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 0}}}]",
    "env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b, optional: false}}}]",
    "envFrom: [{configMapRef: {name: a, optional: false}, prefix: ''}]",
    "lifecycle: {postStart: {httpGet: {port: 80, path: '', scheme: ''}}, preStop: {sleep: {seconds: 0}}}",
];

/// Sources of a volume.
const VOLUMES: &[&str] = &[
    "emptyDir: {medium: '', sizeLimit: 1024Mi}",
    "emptyDir: {sizeLimit: 100m}",
    "secret: {secretName: x, defaultMode: 0644, items: [{key: a, path: b}]}",
    "configMap: {name: x, defaultMode: 0, optional: false}",
    "projected: {sources: [{serviceAccountToken: {path: t, audience: ''}}, {secret: {name: a, optional: false}}]}",
    "projected: {sources: [{downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}",
    "downwardAPI: {items: [{path: p, resourceFieldRef: {containerName: app, resource: limits.cpu, divisor: 1000m}}]}",
    "hostPath: {path: /a, type: ''}",
    "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 100m}}}}}",
    "csi: {driver: d, readOnly: false, fsType: '', volumeAttributes: {a: ''}}",
    "iscsi: {targetPortal: a, iqn: 'iqn.2001-04.com.example:a', lun: 0, iscsiInterface: '', readOnly: false}",
    "azureDisk: {diskName: a, diskURI: 'https://a', fsType: ''}",
    "image: {reference: 'a:1', pullPolicy: ''}",
    "persistentVolumeClaim: {claimName: a, readOnly: false}",
];

/// Other lines of a rule.
const RULES: &[&str] = &[
    "pod: {spec: {dnsPolicy: '', restartPolicy: '', schedulerName: '', priorityClassName: ''}}",
    "pod: {spec: {hostNetwork: false, hostPID: false, hostIPC: false, hostUsers: true}}",
    "pod: {spec: {hostname: '', subdomain: '', nodeName: '', setHostnameAsFQDN: false}}",
    "pod: {spec: {serviceAccountName: '', serviceAccount: ''}}",
    "pod: {spec: {serviceAccount: default}}",
    "pod: {spec: {resources: {requests: {cpu: 0.0001}}}}",
    "pod: {spec: {tolerations: [{key: a, value: b}, {key: c, operator: Exists, effect: ''}]}}",
    "pod: {spec: {hostAliases: [{ip: 1.1.1.1, hostnames: []}], nodeSelector: {a: ''}}}",
    "pod: {spec: {securityContext: {fsGroup: 0, supplementalGroups: [0], seccompProfile: {type: RuntimeDefault}}}}",
    "pod: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}}",
    "pod: {spec: {terminationGracePeriodSeconds: -1}}",
    "pod: {labels: {a: ''}, annotations: {b: ''}}",
    "pod: {spec: {hostNetwork: true}}\nsidecars: [{name: s, image: i, ports: [{containerPort: 80}]}]",
    "securityProfile: restricted\nsidecars: [{name: s, image: i}]\ninitContainers: [{name: t, image: i}]",
    "volumes: [{name: v}]\nsidecars: [{name: s, image: i, volumeMounts: [{name: v, mountPath: /m//, subPath: ''}]}]",
    "volumes: [{name: v}]\ncontainerPatches: [{select: {all: true}, volumeMounts: [{name: v, mountPath: /m/, readOnly: false}]}]",
    "imagePullSecrets: [{name: a}]",
];

fn all_specs() -> Vec<String> {
    let containers = CONTAINERS.iter().flat_map(|members| {
        [
            format!("sidecars: [{{name: s, image: 'i:1', mode: regular, {members}}}]"),
            format!("containerPatches: [{{select: {{all: true}}, {members}}}]"),
        ]
    });
    let volumes = VOLUMES.iter().map(|source| format!("volumes: [{{name: v, {source}}}]"));
    containers.chain(volumes).chain(RULES.iter().map(|lines| (*lines).to_owned())).collect()
}

/// A required rule for `targets` with these lines.
fn rules(targets: &str, on_conflict: &str, spec: &str) -> RuleSet {
    let lines: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r}}\nspec:\n  targets: [{targets}]\n  match: {{objectSelector: {{matchLabels: {{app: web}}}}}}\n  onConflict: {on_conflict}\n{lines}"
    );
    let loaded = RuleSet::load([("r.yaml", text.as_str())], schema("", "v1", "Pod"));
    loaded.unwrap_or_else(|findings| panic!("{spec}: {}", findings[0].headline()))
}

/// The changes and conflicts of a second evaluation of `rules`, on the object that the API server has stored. Empty if there are none.
async fn second_evaluation(namespace: &Namespace, rules: &RuleSet, object: &Value, of: Resource) -> String {
    let text = object.to_string();
    let subject = Subject::new(&text, of, Verb::Create, namespace.name());
    let mut changed = Document::parse(&text).unwrap();
    changed.apply_all(rules.evaluate(&subject).unwrap().patch()).unwrap();
    let reply = namespace.create_dry_run(&serde_json::from_str(&changed.to_json()).unwrap()).await;
    if reply.status != 201 {
        return format!("refused: {}", reply.text);
    }
    let again = rules.evaluate(&subject.object(&reply.text)).unwrap();
    let steps = again.changes().iter().map(|change| {
        let value = change.operation.value().map(ToString::to_string);
        format!("{} {} {}; ", change.operation.name(), change.operation.path(), value.unwrap_or_default())
    });
    let is_unchanged = matches!(again.verdicts[0].outcome, Outcome::Unchanged);
    let verdict = if is_unchanged { String::new() } else { again.denial().unwrap_or("not unchanged".into()) };
    steps.chain([verdict]).chain(again.warnings.iter().cloned()).collect()
}

#[tokio::test]
async fn a_value_that_the_api_server_stores_in_another_form_is_no_change() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let mut web = pod("web", &[("app", "app:1")]);
    web["metadata"]["labels"] = json!({ "app": "web" });
    let workload = deployment("web", &[("app", "app:1")]);
    let mut findings = Vec::new();
    for spec in all_specs() {
        for (targets, object, of) in
            [("pods", &web, Resource::Pods), ("deployments", &workload, Resource::Deployments)]
        {
            for on_conflict in ["deny", "override"] {
                let rules = rules(targets, on_conflict, &spec);
                let found = second_evaluation(&namespace, &rules, object, of).await;
                if !found.is_empty() {
                    findings.push(format!("{targets}, {on_conflict}, {spec}\n  {found}"));
                }
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
