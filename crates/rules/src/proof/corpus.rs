//! The sample pods that rules are proved on.

/// A pod of the corpus.
pub(super) struct SamplePod {
    /// Its name in findings.
    pub(super) name: &'static str,
    /// The kind of its owner; empty without one.
    pub(super) owner: &'static str,
    /// The pod as JSON. Its metadata has labels, and no owner.
    pub(super) pod: &'static str,
}

/// In order of size.
pub(super) static SAMPLE_PODS: &[SamplePod] = &[
    SamplePod {
        name: "a bare pod",
        owner: "",
        pod: r#"{"metadata":{"name":"web","labels":{}},"spec":{"containers":[{"name":"app","image":"app:1"}]}}"#,
    },
    SamplePod {
        name: "a pod with init containers and a native sidecar",
        owner: "",
        pod: r#"{"metadata":{"name":"web","labels":{}},"spec":{"initContainers":[{"name":"setup","image":"setup:1"},{"name":"logs","image":"logs:1","restartPolicy":"Always","ports":[{"containerPort":24224}]}],"containers":[{"name":"app","image":"app:1"}]}}"#,
    },
    SamplePod {
        name: "a Job's pod of three containers",
        owner: "Job",
        pod: r#"{"metadata":{"name":"web","labels":{}},"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"},{"name":"c","image":"c:1"}]}}"#,
    },
    SamplePod {
        name: "a pod in its node's network",
        owner: "DaemonSet",
        pod: r#"{"metadata":{"name":"web","labels":{}},"spec":{"hostNetwork":true,"containers":[{"name":"app","image":"app:1","ports":[{"containerPort":80,"hostPort":80}]}]}}"#,
    },
    SamplePod {
        name: "a pod for Windows",
        owner: "",
        pod: r#"{"metadata":{"name":"web","labels":{}},"spec":{"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[{"name":"app","image":"app:1"}]}}"#,
    },
    SamplePod {
        name: "a pod with fields of a later Kubernetes",
        owner: "",
        pod: r#"{"metadata":{"name":"web","labels":{},"annotations":{"a/b~c":"d"},"sinceNow":{"x":[1.0]}},"spec":{"containers":[{"name":"app","image":"app:1","notYet":{"y":1e3},"ports":[{"containerPort":8080,"gate":true}]}],"orbit":["low",{"z":null}]}}"#,
    },
    SamplePod {
        name: "a pod with everything",
        owner: "ReplicaSet",
        pod: r#"{"metadata":{"name":"web","labels":{},"annotations":{"owner":"team-a"},"generateName":"web-7d4b9c6f5d-"},"spec":{"serviceAccountName":"web","imagePullSecrets":[{"name":"registry"}],"securityContext":{"runAsNonRoot":true,"supplementalGroups":[1000]},"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"spot","operator":"Exists"}],"volumes":[{"name":"data","emptyDir":{}},{"name":"token","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}],"initContainers":[{"name":"setup","image":"setup:1","volumeMounts":[{"name":"data","mountPath":"/data"}]}],"containers":[{"name":"app","image":"registry.example.com:5000/app@sha256:0","command":["app"],"args":["--port","$(PORT)"],"env":[{"name":"PORT","value":"8080"},{"name":"URL","value":"http://localhost:$(PORT)"},{"name":"PORT","value":"8081"}],"envFrom":[{"configMapRef":{"name":"app"}}],"ports":[{"name":"http","containerPort":8080},{"containerPort":8080,"protocol":"UDP"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}},"volumeMounts":[{"name":"data","mountPath":"/data/"},{"name":"token","mountPath":"/var/run/token","readOnly":true}],"readinessProbe":{"httpGet":{"path":"/","port":"http"}},"securityContext":{"capabilities":{"drop":["ALL"]}}},{"name":"helper","image":"helper:1"}]}}"#,
    },
];
