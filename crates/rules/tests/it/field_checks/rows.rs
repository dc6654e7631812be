//! Rules that would make a valid pod invalid, and rules that look alike and are applied. `tests/cluster` sends their pods to a
//! kube-apiserver.

/// The rule, the pod's specification beside its container `app`, the members of the container, and the message.
type Row = (&'static str, &'static str, &'static str, &'static str);

const OF_PODS: &[Row] = &[
    (
        "pod: {spec: {resources: {requests: {cpu: 500m}}}}",
        r#""resources":{"limits":{"cpu":"100m"}}"#,
        "",
        "more `cpu` would be requested than its limit allows",
    ),
    (
        "pod: {spec: {resources: {limits: {hugepages-2Mi: 2Mi}}}}",
        "",
        "",
        "the pod itself: huge pages need `cpu` or `memory`",
    ),
    (
        "pod: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [app]}]}}",
        "",
        "",
        "has `app` in `labelSelector` and in `matchLabelKeys`",
    ),
    (
        "pod: {labels: {a: b}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchExpressions: [{key: a, operator: Exists}]}, matchLabelKeys: [a]}]}}",
        "",
        "",
        "has `a` in `labelSelector` and in `matchLabelKeys`",
    ),
    (
        "containerPatches: [{select: {all: true, init: true}, readinessProbe: {tcpSocket: {port: 80}}}]",
        r#""initContainers":[{"name":"init","image":"i"}]"#,
        "",
        "cannot have `readinessProbe`",
    ),
    ("pod: {spec: {schedulingGates: [{name: a.b/c}]}}", r#""nodeName":"n""#, "", "`schedulingGates`"),
    (
        "pod: {spec: {hostUsers: false}}",
        r#""hostNetwork":true"#,
        "",
        "`hostUsers: false` and `hostNetwork: true`",
    ),
    (
        "pod: {spec: {hostUsers: false}}",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
        "`volumeDevices`",
    ),
    ("pod: {spec: {shareProcessNamespace: true}}", r#""hostPID":true"#, "", "exclude each other"),
    ("pod: {spec: {setHostnameAsFQDN: true}}", r#""hostnameOverride":"h""#, "", "exclude each other"),
    (
        "pod: {spec: {replace: [securityContext], securityContext: {sysctls: [{name: net.core.somaxconn, value: '9'}]}}}",
        r#""hostNetwork":true"#,
        "",
        "cannot set the sysctl",
    ),
    ("pod: {spec: {hostNetwork: true}}", "", r#""ports":[{"containerPort":80,"hostPort":81}]"#, "`hostPort`"),
    ("pod: {spec: {dnsPolicy: None}}", r#""dnsPolicy":"ClusterFirst""#, "", "`nameservers`"),
    (
        "pod: {spec: {terminationGracePeriodSeconds: 5}}",
        "",
        r#""lifecycle":{"preStop":{"sleep":{"seconds":9}}}"#,
        "`preStop` would sleep 9 s",
    ),
    (
        "pod: {spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}",
        "",
        "",
        "name different profiles",
    ),
    (
        "pod: {annotations: {container.apparmor.security.beta.kubernetes.io/gone: runtime/default}}",
        "",
        "",
        "container `gone`",
    ),
    ("pod: {spec: {hostUsers: false}}", r#""os":{"name":"windows"}"#, "", "Windows cannot have `hostUsers`"),
    (
        "pod: {spec: {securityContext: {runAsUser: 7}}}",
        r#""os":{"name":"windows"}"#,
        "",
        "Windows cannot have `runAsUser`",
    ),
    (
        "pod: {spec: {securityContext: {windowsOptions: {runAsUserName: u}}}}",
        r#""os":{"name":"linux"}"#,
        "",
        "Linux cannot have `windowsOptions`",
    ),
    (
        "pod: {spec: {securityContext: {windowsOptions: {hostProcess: true}}}}",
        "",
        "",
        "needs `hostNetwork: true`",
    ),
];

/// Parts that conflict with parts of the pod, with `onConflict: override`.
const WITH_OVERRIDE: &[Row] = &[
    (
        "pod: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [role]}]}}",
        "",
        "",
        "`matchLabelKeys` needs a `labelSelector`",
    ),
    (
        "volumes: [{name: v, emptyDir: {}}]",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
        "volume `v` is not a",
    ),
    (
        "volumes: [{name: w, persistentVolumeClaim: {claimName: c}}]",
        "",
        r#""env":[{"name":"A","valueFrom":{"fileKeyRef":{"volumeName":"w","path":"p","key":"k"}}}]"#,
        "volume `w`, which is no `emptyDir`",
    ),
    (
        "containerPatches: [{select: {all: true}, ports: [{containerPort: 80, hostPort: 80}]}]",
        "",
        "",
        "port 80/TCP of the node",
    ),
    (
        "sidecars: [{name: s, image: i, mode: regular, ports: [{containerPort: 81, hostPort: 80}]}]",
        "",
        r#""ports":[{"containerPort":80,"hostPort":80}]"#,
        "port 80/TCP of the node",
    ),
    (
        "containerPatches: [{select: {names: [app]}, ports: [{containerPort: 81, name: web}]}]",
        "",
        r#""ports":[{"containerPort":80,"name":"web"},{"containerPort":81}]"#,
        "would be named `web`",
    ),
    (
        "pod: {spec: {resources: {limits: {cpu: 1}}}}",
        "",
        r#""resources":{"requests":{"cpu":"2"}}"#,
        "request more `cpu` than the pod",
    ),
];

const FILE_OF_GONE: &str = "env: [{name: A, valueFrom: {fileKeyRef: {volumeName: gone, path: p, key: k}}}]";
const FILE_OF_CLAIM: &str = "env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]";

pub(crate) const OF_CONTAINERS: &[Row] = &[
    (FILE_OF_GONE, "", "", "volume `gone`, which is no `emptyDir` volume of the pod"),
    (FILE_OF_CLAIM, "", "", "volume `v`, which is no `emptyDir` volume of the pod"),
    (
        "volumeMounts: [{name: v, mountPath: /m, mountPropagation: Bidirectional}]",
        "",
        "",
        "privileged container",
    ),
    ("resources: {claims: [{name: gpu}]}", "", "", "no resource claim `gpu`"),
    ("resources: {limits: {hugepages-2Mi: 2Mi}}", "", "", "`: huge pages need `cpu` or `memory`"),
    ("securityContext: {procMount: Unmasked}", "", "", "`hostUsers: false`"),
    ("securityContext: {runAsUser: 7}", r#""os":{"name":"windows"}"#, "", "Windows cannot have `runAsUser`"),
    (
        "securityContext: {windowsOptions: {hostProcess: true}}",
        r#""hostNetwork":true"#,
        "",
        "alike in `hostProcess`",
    ),
    ("securityContext: {appArmorProfile: {type: RuntimeDefault}}", "", "", "name different profiles"),
    ("volumeDevices: [{name: w, devicePath: /d}]", "", "", "volume `w` is not a"),
    (
        "volumeMounts: [{name: v, mountPath: /m}]",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
        "is used twice",
    ),
    (
        "volumeMounts: [{name: v, mountPath: /m, readOnly: false}]",
        "",
        r#""volumeMounts":[{"name":"v","mountPath":"/m","readOnly":true,"recursiveReadOnly":"Enabled"}]"#,
        "`recursiveReadOnly` of a mount",
    ),
    (
        "volumeMounts: [{name: v, mountPath: /m, mountPropagation: HostToContainer}]",
        "",
        r#""volumeMounts":[{"name":"v","mountPath":"/m","readOnly":true,"recursiveReadOnly":"Enabled"}]"#,
        "`recursiveReadOnly` of a mount",
    ),
    ("ports: [{containerPort: 80, hostPort: 81}]", r#""hostNetwork":true"#, "", "`hostPort`"),
    ("securityContext: {seccompProfile: {type: RuntimeDefault}}", "", "", "name different profiles"),
    ("readinessProbe: {timeoutSeconds: 9}", "", "", "`readinessProbe` needs one of"),
    (
        "securityContext: {allowPrivilegeEscalation: false}",
        "",
        r#""securityContext":{"capabilities":{"add":["CAP_SYS_ADMIN"]}}"#,
        "exclude each other",
    ),
    (
        "resources: {requests: {cpu: 100m}}",
        "",
        r#""resources":{"limits":{"cpu":"50m"}}"#,
        "than its limit allows",
    ),
    ("resources: {requests: {example.com/gpu: 1}}", "", "", "needs a limit that is equal"),
    (
        "replace: [resizePolicy], resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]",
        r#""restartPolicy":"Never""#,
        "",
        "`resizePolicy`",
    ),
];

/// Rules that are applied: at least one beside each check.
pub(crate) const ALIKE: &[(&str, &str, &str)] = &[
    (
        "pod: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {role: db}}, matchLabelKeys: [app, role]}]}}",
        "",
        "",
    ),
    ("pod: {spec: {schedulingGates: [{name: a.b/c}]}}", "", ""),
    ("pod: {spec: {shareProcessNamespace: true}}", r#""hostPID":false"#, ""),
    (
        "pod: {spec: {hostUsers: false}}",
        r#""hostNetwork":false"#,
        r#""volumeMounts":[{"name":"v","mountPath":"/d"}]"#,
    ),
    (
        "pod: {spec: {hostUsers: true}}",
        r#""hostNetwork":true"#,
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
    ),
    ("pod: {spec: {setHostnameAsFQDN: true}}", r#""hostname":"h""#, ""),
    (
        "pod: {spec: {replace: [securityContext], securityContext: {sysctls: [{name: net.core.somaxconn, value: '9'}]}}}",
        r#""hostIPC":true"#,
        "",
    ),
    (
        "pod: {spec: {replace: [securityContext], securityContext: {sysctls: [{name: kernel.shmall, value: '9'}]}}}",
        r#""hostNetwork":true"#,
        "",
    ),
    ("onConflict: override\ncontainerPatches: [{select: {all: true}, ports: [{containerPort: 80}]}]", "", ""),
    (
        "sidecars: [{name: s, image: i, mode: regular, ports: [{containerPort: 81, hostPort: 80, protocol: UDP}]}]",
        "",
        r#""ports":[{"containerPort":80,"hostPort":80}]"#,
    ),
    ("pod: {spec: {hostNetwork: true}}", "", r#""ports":[{"containerPort":81,"hostPort":81}]"#),
    ("pod: {spec: {dnsPolicy: None}}", r#""dnsConfig":{"nameservers":["10.0.0.1"]}"#, ""),
    (
        "containerPatches: [{select: {all: true, init: true}, readinessProbe: {tcpSocket: {port: 80}}}]",
        r#""initContainers":[{"name":"init","image":"i","restartPolicy":"Always"}]"#,
        "",
    ),
    (
        "onConflict: override\ncontainerPatches: [{select: {names: [app]}, readinessProbe: {timeoutSeconds: 9}}]",
        "",
        r#""readinessProbe":{"exec":{"command":["x"]}}"#,
    ),
    (
        "pod: {spec: {terminationGracePeriodSeconds: 9}}",
        "",
        r#""lifecycle":{"preStop":{"sleep":{"seconds":9}}}"#,
    ),
    (
        "containerPatches: [{select: {names: [app]}, replace: [resizePolicy], resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]}]",
        r#""restartPolicy":"Never""#,
        "",
    ),
    (
        "containerPatches: [{select: {names: [app]}, securityContext: {allowPrivilegeEscalation: false}}]",
        "",
        r#""securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}"#,
    ),
    (
        "containerPatches: [{select: {names: [app]}, securityContext: {procMount: Unmasked}}]",
        r#""hostUsers":false"#,
        "",
    ),
    (
        "containerPatches: [{select: {names: [app]}, volumeMounts: [{name: v, mountPath: /m, mountPropagation: HostToContainer}]}]",
        "",
        "",
    ),
    (
        "containerPatches: [{select: {names: [app]}, volumeMounts: [{name: v, mountPath: /m, mountPropagation: Bidirectional}]}]",
        "",
        r#""securityContext":{"privileged":true}"#,
    ),
    (
        "onConflict: override\ncontainerPatches: [{select: {names: [app]}, volumeMounts: [{name: v, mountPath: /m, subPath: s, mountPropagation: None}]}]",
        "",
        r#""volumeMounts":[{"name":"v","mountPath":"/m","readOnly":true,"recursiveReadOnly":"Enabled"}]"#,
    ),
    ("containerPatches: [{select: {names: [app]}, volumeDevices: [{name: v, devicePath: /d}]}]", "", ""),
    (
        "onConflict: override\nvolumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], volumeMode: Block, resources: {requests: {storage: 1Gi}}}}}}]",
        "",
        r#""volumeDevices":[{"name":"v","devicePath":"/d"}]"#,
    ),
    (
        "onConflict: override\ncontainerPatches: [{select: {names: [app]}, ports: [{containerPort: 81, name: web}]}]",
        "",
        r#""ports":[{"containerPort":80,"name":"other"},{"containerPort":81}]"#,
    ),
    ("pod: {annotations: {container.apparmor.security.beta.kubernetes.io/other: runtime/default}}", "", ""),
    ("pod: {spec: {securityContext: {seccompProfile: {type: Unconfined}}}}", "", ""),
    (
        "containerPatches: [{select: {names: [app]}, securityContext: {appArmorProfile: {type: Unconfined}}}]",
        "",
        "",
    ),
    (
        "containerPatches: [{select: {names: [app]}, securityContext: {seccompProfile: {type: Unconfined}}}]",
        "",
        "",
    ),
    (
        "containerPatches: [{select: {names: [app]}, resources: {requests: {cpu: 50m}}}]",
        "",
        r#""resources":{"limits":{"cpu":"50m"}}"#,
    ),
    (
        "containerPatches: [{select: {names: [app]}, resources: {limits: {hugepages-2Mi: 2Mi}}}]",
        "",
        r#""resources":{"limits":{"cpu":"50m"}}"#,
    ),
    (
        "containerPatches: [{select: {names: [app]}, resources: {claims: [{name: gpu}]}}]",
        r#""resourceClaims":[{"name":"gpu","resourceClaimName":"c"}]"#,
        "",
    ),
    (
        "containerPatches: [{select: {names: [app]}, env: [{name: A, valueFrom: {fileKeyRef: {volumeName: w, path: p, key: k}}}]}]",
        "",
        "",
    ),
    (
        "volumes: [{name: files}]\nsidecars: [{name: s, image: i, env: [{name: A, valueFrom: {fileKeyRef: {volumeName: files, path: p, key: k}}}]}]",
        "",
        "",
    ),
    ("pod: {spec: {resources: {limits: {cpu: 2}}}}", "", r#""resources":{"requests":{"cpu":"2"}}"#),
    ("pod: {spec: {resources: {limits: {hugepages-2Mi: 2Mi}}}}", "", r#""resources":{"limits":{"cpu":"2"}}"#),
    ("pod: {spec: {resources: {limits: {hugepages-2Mi: 2Mi, memory: 1Gi}}}}", "", ""),
    ("pod: {spec: {hostUsers: false}}", r#""os":{"name":"linux"}"#, ""),
    ("pod: {spec: {securityContext: {runAsUser: 7}}}", r#""os":{"name":"linux"}"#, ""),
    (
        "containerPatches: [{select: {names: [app]}, securityContext: {windowsOptions: {runAsUserName: u}}}]",
        r#""os":{"name":"windows"}"#,
        "",
    ),
    ("pod: {spec: {securityContext: {windowsOptions: {hostProcess: true}}}}", r#""hostNetwork":true"#, ""),
];

/// Rules that are not applied, each with the pod's members, those of its container, and the message.
pub(crate) fn refused() -> impl Iterator<Item = (String, &'static str, &'static str, &'static str)> {
    let blocks = OF_CONTAINERS.iter().map(|(fields, spec, container, why)| {
        let lines = format!("containerPatches: [{{select: {{names: [app]}}, {fields}}}]");
        (lines, *spec, *container, *why)
    });
    let others = OF_PODS.iter().chain(WITH_OVERRIDE);
    let others = others.map(|(lines, spec, container, why)| ((*lines).to_owned(), *spec, *container, *why));
    others
        .chain(blocks)
        .map(|(lines, spec, container, why)| (format!("onConflict: override\n{lines}"), spec, container, why))
}

/// A pod with an annotation of a profile for its container `app`.
pub(crate) fn object(spec: &str, container: &str) -> String {
    let member = |text: &str| if text.is_empty() { String::new() } else { format!(",{text}") };
    let (spec, container) = (member(spec), member(container));
    let profiles = r#""container.apparmor.security.beta.kubernetes.io/app":"unconfined","container.seccomp.security.alpha.kubernetes.io/app":"unconfined","seccomp.security.alpha.kubernetes.io/pod":"unconfined""#;
    format!(
        r#"{{"metadata":{{"labels":{{"app":"web"}},"annotations":{{{profiles}}}}},"spec":{{"containers":[{{"name":"app","image":"i"{container}}}, {{"name":"other","image":"i"}}],"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"c"}}}},{{"name":"w","emptyDir":{{}}}}]{spec}}}}}"#
    )
}
