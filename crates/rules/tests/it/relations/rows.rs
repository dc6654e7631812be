//! Members of one object that kube-apiserver 1.36 refuses in each pod, and members that it takes. `tests/cluster` sends both.

/// Fields, and the message.
type Row = (&'static str, &'static str);

const OF_SIDECARS: &[Row] = &[
    ("imagePullPolicy: always", "`imagePullPolicy`"),
    ("terminationMessagePolicy: file", "`terminationMessagePolicy`"),
    ("ports: [{containerPort: 80, protocol: tcp}]", "`protocol`"),
    ("ports: [{name: web}]", "`ports` needs `containerPort`"),
    ("readinessProbe: {httpGet: {port: 80, scheme: http}}", "`scheme`"),
    ("readinessProbe: {httpGet: {path: /}}", "`httpGet` needs `port`"),
    ("readinessProbe: {exec: {command: []}}", "`exec` needs `command`"),
    (
        "readinessProbe: {tcpSocket: {port: 80}, terminationGracePeriodSeconds: 3}",
        "`readinessProbe` cannot have `terminationGracePeriodSeconds`",
    ),
    ("livenessProbe: {grpc: {}}", "`grpc` needs `port`"),
    ("livenessProbe: {tcpSocket: {port: 80}, successThreshold: 2}", "`successThreshold`"),
    ("lifecycle: {preStop: {exec: {}}}", "`exec` needs `command`"),
    ("lifecycle: {postStart: {}}", "`postStart` needs `exec` or `httpGet` or `sleep` or `tcpSocket`"),
    ("securityContext: {seccompProfile: {type: Default}}", "`type`"),
    ("volumeMounts: [{name: v, mountPath: /m, mountPropagation: Both}]", "`mountPropagation`"),
    (
        "volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: 'true', readOnly: true}]",
        "`recursiveReadOnly`",
    ),
    ("env: [{name: A, valueFrom: {fieldRef: {}}}]", "`fieldRef` needs `fieldPath`"),
    ("env: [{name: A, valueFrom: {secretKeyRef: {name: b}}}]", "`secretKeyRef` needs `key`"),
    ("env: [{name: A, valueFrom: {configMapKeyRef: {key: b}}}]", "`configMapKeyRef` needs `name`"),
    ("env: [{name: A, valueFrom: {fileKeyRef: {path: e, key: A}}}]", "`fileKeyRef` needs `volumeName`"),
    ("env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, key: A}}}]", "`fileKeyRef` needs `path`"),
    ("env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: e}}}]", "`fileKeyRef` needs `key`"),
    ("env: [{name: A, valueFrom: {resourceFieldRef: {divisor: 1}}}]", "`resourceFieldRef` needs `resource`"),
    ("envFrom: [{configMapRef: {optional: true}}]", "`configMapRef` needs `name`"),
    ("envFrom: [{prefix: A}]", "`envFrom` needs `configMapRef` or `secretRef`"),
    ("securityContext: {seccompProfile: {type: Localhost}}", "`type: Localhost` needs `localhostProfile`"),
    (
        "securityContext: {appArmorProfile: {type: RuntimeDefault, localhostProfile: a}}",
        "`localhostProfile` needs `type: Localhost`",
    ),
    (
        "volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled}]",
        "`recursiveReadOnly: Enabled` needs `readOnly: true`",
    ),
    (
        "volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: IfPossible, readOnly: false}]",
        "`recursiveReadOnly: IfPossible` needs `readOnly: true`",
    ),
    (
        "volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled, readOnly: true, mountPropagation: HostToContainer}]",
        "`mountPropagation: HostToContainer` exclude each other",
    ),
    (
        "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]",
        "`restartPolicyRules` needs `restartPolicy`",
    ),
];

const OF_VOLUMES: &[Row] = &[
    ("configMap: {optional: true}", "`configMap` needs `name`"),
    ("csi: {readOnly: true}", "`csi` needs `driver`"),
    ("image: {pullPolicy: Always}", "`image` needs `reference`"),
    ("nfs: {server: a}", "`nfs` needs `path`"),
    ("nfs: {path: /a}", "`nfs` needs `server`"),
    ("projected: {sources: [{serviceAccountToken: {audience: a}}]}", "`serviceAccountToken` needs `path`"),
    ("projected: {sources: [{secret: {optional: true}}]}", "`sources[].secret` needs `name`"),
    ("secret: {optional: true}", "`secret` needs `secretName`"),
    ("hostPath: {type: Directory}", "`hostPath` needs `path`"),
    ("persistentVolumeClaim: {readOnly: true}", "`persistentVolumeClaim` needs `claimName`"),
    ("downwardAPI: {items: [{path: p, fieldRef: {apiVersion: v1}}]}", "`fieldRef` needs `fieldPath`"),
];

const OF_PODS: &[Row] = &[
    ("hostAliases: [{hostnames: [a]}]", "`hostAliases` needs `ip`"),
    (
        "topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
        "`topologySpreadConstraints` needs `topologyKey`",
    ),
    (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z}]",
        "`topologySpreadConstraints` needs `whenUnsatisfiable`",
    ),
    (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never}]",
        "`whenUnsatisfiable`",
    ),
    (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [role]}]",
        "`matchLabelKeys` needs `labelSelector`",
    ),
    (
        "resourceClaims: [{name: gpu}]",
        "`resourceClaims` needs `resourceClaimName` or `resourceClaimTemplateName`",
    ),
    ("overhead: {cpu: 1}", "`overhead` needs `runtimeClassName`"),
    ("priority: 9", "`priority` needs `priorityClassName`"),
    ("preemptionPolicy: Never", "`preemptionPolicy: Never` needs `priorityClassName`"),
    ("resources: {claims: [{name: gpu}]}", "`pod.spec.resources` cannot have `claims`"),
    (
        "resources: {limits: {ephemeral-storage: 1Gi}}",
        "`pod.spec.resources.limits` cannot have `ephemeral-storage`",
    ),
    ("dnsPolicy: clusterFirst", "`dnsPolicy`"),
    ("restartPolicy: always", "`restartPolicy`"),
    ("tolerations: [{key: a, effect: noschedule}]", "`effect`"),
    (
        "tolerations: [{key: a, operator: Exists, value: b}]",
        "`operator: Exists` and `value` exclude each other",
    ),
    ("tolerations: [{value: b}]", "`tolerations` needs `key` or `operator: Exists`"),
    ("tolerations: [{effect: NoSchedule}]", "`tolerations` needs `key` or `operator: Exists`"),
    (
        "tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 3}]",
        "`tolerationSeconds` needs `effect: NoExecute`",
    ),
    (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}]",
        "`whenUnsatisfiable: ScheduleAnyway` and `minDomains` exclude each other",
    ),
    (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchExpressions: [{key: app, operator: Exists, values: [a]}]}}]",
        "`operator: Exists` and `values` exclude each other",
    ),
    (
        "replace: [affinity], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}",
        "`operator: In` needs `values`",
    ),
];

const TAKEN_OF_SIDECARS: &[&str] = &[
    "imagePullPolicy: '', terminationMessagePolicy: FallbackToLogsOnError",
    "ports: [{containerPort: 80, protocol: ''}]",
    "readinessProbe: {httpGet: {port: 80, scheme: ''}, successThreshold: 2}",
    "livenessProbe: {exec: {command: [a]}, successThreshold: 0x1, terminationGracePeriodSeconds: 3}",
    "lifecycle: {preStop: {sleep: {seconds: 1}}}",
    "env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: e, key: A}}}]",
    "envFrom: [{prefix: '1 .', secretRef: {name: b}}]",
    "securityContext: {seccompProfile: {type: Localhost, localhostProfile: a}}",
    "volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled, readOnly: True, mountPropagation: None}]",
    "volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Disabled, mountPropagation: HostToContainer}]",
    "restartPolicy: OnFailure, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]",
];

const TAKEN_OF_VOLUMES: &[&str] = &[
    "projected: {sources: [{secret: {name: a}}, {configMap: {name: a}}, {serviceAccountToken: {path: t}}]}",
    "secret: {secretName: a}",
    "nfs: {server: a, path: /b}",
    "image: {reference: a}",
];

const TAKEN_OF_PODS: &[&str] = &[
    "preemptionPolicy: PreemptLowerPriority",
    "priority: 0",
    "resourceClaims: [{name: gpu, resourceClaimName: c}]",
    "resources: {limits: {cpu: 2, memory: 1Gi, hugepages-2Mi: 2Mi}}",
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {role: db}}, matchLabelKeys: [role]}]",
    "tolerations: [{key: a, operator: Exists, value: '', effect: NoExecute, tolerationSeconds: 0}, {operator: Exists}]",
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, minDomains: 2, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: b, operator: Exists, values: []}]}, matchLabelKeys: [app]}]",
];

/// Lines of rules, each with the message for which it is refused.
pub(crate) fn refused() -> impl Iterator<Item = (String, &'static str)> {
    let sidecars = OF_SIDECARS.iter().map(|(fields, why)| (of_sidecar(fields), *why));
    let volumes = OF_VOLUMES.iter().map(|(fields, why)| (of_volume(fields), *why));
    sidecars.chain(volumes).chain(OF_PODS.iter().map(|(fields, why)| (of_pod(fields), *why)))
}

/// Lines of rules that are not refused.
pub(crate) fn taken() -> impl Iterator<Item = String> {
    let sidecars = TAKEN_OF_SIDECARS.iter().map(|fields| of_sidecar(fields));
    sidecars
        .chain(TAKEN_OF_VOLUMES.iter().map(|fields| of_volume(fields)))
        .chain(TAKEN_OF_PODS.iter().map(|fields| of_pod(fields)))
}

fn of_sidecar(fields: &str) -> String {
    format!(
        "volumes: [{{name: v, emptyDir: {{}}}}]\nsidecars: [{{name: s, image: 'i:1', mode: regular, {fields}}}]"
    )
}

fn of_pod(fields: &str) -> String {
    format!("pod: {{spec: {{{fields}}}}}")
}

fn of_volume(fields: &str) -> String {
    format!("volumes: [{{name: v, {fields}}}]")
}
