//! The sample pods that rules are proved on.

use std::collections::BTreeMap;

use crate::rule::Resource;
use crate::subject::Layout;
use crate::yaml::quote;

/// A pod of the corpus.
pub(super) struct SamplePod {
    /// Its name in findings.
    pub(super) name: &'static str,
    /// The members of its metadata besides name, labels, annotations and owner, as JSON.
    metadata: &'static str,
    annotations: &'static [(&'static str, &'static str)],
    /// The kind of its owner; empty without one.
    owner: &'static str,
    spec: &'static str,
}

/// In order of size.
pub(super) static SAMPLE_PODS: &[SamplePod] = &[
    SamplePod {
        name: "a bare pod",
        metadata: "",
        annotations: &[],
        owner: "",
        spec: r#"{"containers":[{"name":"app","image":"app:1"}]}"#,
    },
    SamplePod {
        name: "a pod with init containers and a native sidecar",
        metadata: "",
        annotations: &[],
        owner: "",
        spec: r#"{"initContainers":[{"name":"setup","image":"setup:1"},{"name":"logs","image":"logs:1","restartPolicy":"Always","ports":[{"containerPort":24224}]}],"containers":[{"name":"app","image":"app:1"}]}"#,
    },
    SamplePod {
        name: "a Job's pod of three containers",
        metadata: "",
        annotations: &[],
        owner: "Job",
        spec: r#"{"restartPolicy":"Never","containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"},{"name":"c","image":"c:1"}]}"#,
    },
    SamplePod {
        name: "a pod in its node's network",
        metadata: "",
        annotations: &[],
        owner: "DaemonSet",
        spec: r#"{"hostNetwork":true,"containers":[{"name":"app","image":"app:1","ports":[{"containerPort":80,"hostPort":80}]}]}"#,
    },
    SamplePod {
        name: "a pod for Windows",
        metadata: "",
        annotations: &[],
        owner: "",
        spec: r#"{"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[{"name":"app","image":"app:1"}]}"#,
    },
    SamplePod {
        name: "a pod with fields of a later Kubernetes",
        metadata: r#","sinceNow":{"x":[1.0]}"#,
        annotations: &[("a/b~c", "d")],
        owner: "",
        spec: r#"{"containers":[{"name":"app","image":"app:1","notYet":{"y":1e3},"ports":[{"containerPort":8080,"gate":true}]}],"orbit":["low",{"z":null}]}"#,
    },
    SamplePod {
        name: "a pod with everything",
        metadata: r#","generateName":"web-7d4b9c6f5d-""#,
        annotations: &[("owner", "team-a")],
        owner: "ReplicaSet",
        spec: r#"{"serviceAccountName":"web","imagePullSecrets":[{"name":"registry"}],"securityContext":{"runAsNonRoot":true,"supplementalGroups":[1000]},"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"spot","operator":"Exists"}],"volumes":[{"name":"data","emptyDir":{}},{"name":"token","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}],"initContainers":[{"name":"setup","image":"setup:1","volumeMounts":[{"name":"data","mountPath":"/data"}]}],"containers":[{"name":"app","image":"registry.example.com:5000/app@sha256:0","command":["app"],"args":["--port","$(PORT)"],"env":[{"name":"PORT","value":"8080"},{"name":"URL","value":"http://localhost:$(PORT)"},{"name":"PORT","value":"8081"}],"envFrom":[{"configMapRef":{"name":"app"}}],"ports":[{"name":"http","containerPort":8080},{"containerPort":8080,"protocol":"UDP"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}},"volumeMounts":[{"name":"data","mountPath":"/data/"},{"name":"token","mountPath":"/var/run/token","readOnly":true}],"readinessProbe":{"httpGet":{"path":"/","port":"http"}},"securityContext":{"capabilities":{"drop":["ALL"]}}},{"name":"helper","image":"helper:1"}]}"#,
    },
];

impl SamplePod {
    /// The pod, or a `resource` with it as its template, with `labels` and more `annotations`. `owner` replaces the kind of
    /// its owner.
    pub(super) fn object(
        &self,
        resource: Resource,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
        owner: Option<&str>,
    ) -> String {
        let mut texts = format!(r#""labels":{{{}}}"#, members(labels));
        let mut all = annotations.clone();
        for (key, value) in self.annotations {
            all.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
        }
        if !all.is_empty() {
            texts += &format!(r#","annotations":{{{}}}"#, members(&all));
        }
        // `owner.kind` may be wanted as a text that is no kind; kinds begin with a capital letter.
        let owner = Some(owner.unwrap_or(self.owner)).filter(|kind| kind.starts_with(char::is_uppercase));
        let owner = owner.map(|kind| {
            format!(
                r#","ownerReferences":[{{"kind":{},"name":"web-7d4b9c6f5d","uid":"1","controller":true}}]"#,
                quote(kind)
            )
        });
        let owner = owner.unwrap_or_default();
        let metadata = format!(r#"{{"name":"web",{texts}{}{owner}}}"#, self.metadata);
        let pod = format!(r#"{{"metadata":{metadata},"spec":{}}}"#, self.spec);
        let layout = Layout::of(resource);
        let steps: Vec<&str> = layout.pod.as_str().split('/').skip(1).collect();
        if steps.is_empty() {
            return pod;
        }
        let nested = steps.iter().rev().fold(pod, |inner, step| format!(r#"{{"{step}":{inner}}}"#));
        let nested = nested.strip_prefix('{').unwrap_or(&nested);
        format!(r#"{{"metadata":{{"name":"web",{texts}}},{nested}"#)
    }
}

fn members(texts: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        texts.iter().map(|(key, value)| format!("{}:{}", quote(key), quote(value))).collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{BTreeMap, Resource, SAMPLE_PODS};

    #[test]
    fn the_corpus_is_json() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for sample in SAMPLE_PODS {
            let pod: Value =
                serde_json::from_str(&sample.object(Resource::Pods, &labels, &labels, None)).unwrap();
            assert!(pod["spec"]["containers"][0]["name"].is_string(), "{}", sample.name);
            let job: Value =
                serde_json::from_str(&sample.object(Resource::CronJobs, &labels, &labels, None)).unwrap();
            assert_eq!(job["metadata"]["labels"]["app"], "web");
            assert_eq!(job["spec"]["jobTemplate"]["spec"]["template"], pod);
        }
    }
}
