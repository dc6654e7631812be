//! The pods that rules are proved on.

use std::collections::BTreeMap;

use crate::rule::Resource;
use crate::subject::Layout;
use crate::yaml::quote;

/// A pod of the corpus.
pub(super) struct Specimen {
    /// What findings call it.
    pub(super) name: &'static str,
    /// Members of its metadata beside name and labels, as JSON.
    metadata: &'static str,
    spec: &'static str,
}

/// From the barest to the fullest.
pub(super) static PODS: &[Specimen] = &[
    Specimen { name: "a bare pod", metadata: "", spec: r#"{"containers":[{"name":"app","image":"app:1"}]}"# },
    Specimen {
        name: "a pod with init containers and a native sidecar",
        metadata: "",
        spec: r#"{"initContainers":[{"name":"setup","image":"setup:1"},{"name":"logs","image":"logs:1","restartPolicy":"Always","ports":[{"containerPort":24224}]}],"containers":[{"name":"app","image":"app:1"}]}"#,
    },
    Specimen {
        name: "a Job's pod of three containers",
        metadata: r#","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"web","uid":"1","controller":true}]"#,
        spec: r#"{"restartPolicy":"Never","containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"},{"name":"c","image":"c:1"}]}"#,
    },
    Specimen {
        name: "a pod in its node's network",
        metadata: r#","ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"web","uid":"2","controller":true}]"#,
        spec: r#"{"hostNetwork":true,"containers":[{"name":"app","image":"app:1","ports":[{"containerPort":80,"hostPort":80}]}]}"#,
    },
    Specimen {
        name: "a pod for Windows",
        metadata: "",
        spec: r#"{"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[{"name":"app","image":"app:1"}]}"#,
    },
    Specimen {
        name: "a pod with fields of a later Kubernetes",
        metadata: r#","annotations":{"a/b~c":"d"},"sinceNow":{"x":[1.0]}"#,
        spec: r#"{"containers":[{"name":"app","image":"app:1","notYet":{"y":1e3},"ports":[{"containerPort":8080,"gate":true}]}],"orbit":["low",{"z":null}]}"#,
    },
    Specimen {
        name: "a pod with everything",
        metadata: r#","generateName":"web-7d4b9c6f5d-","annotations":{"owner":"team-a"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b9c6f5d","uid":"3","controller":true}]"#,
        spec: r#"{"serviceAccountName":"web","imagePullSecrets":[{"name":"registry"}],"securityContext":{"runAsNonRoot":true,"supplementalGroups":[1000]},"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"spot","operator":"Exists"}],"volumes":[{"name":"data","emptyDir":{}},{"name":"token","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}],"initContainers":[{"name":"setup","image":"setup:1","volumeMounts":[{"name":"data","mountPath":"/data"}]}],"containers":[{"name":"app","image":"registry.example.com:5000/app@sha256:0","command":["app"],"args":["--port","$(PORT)"],"env":[{"name":"PORT","value":"8080"},{"name":"URL","value":"http://localhost:$(PORT)"},{"name":"PORT","value":"8081"}],"envFrom":[{"configMapRef":{"name":"app"}}],"ports":[{"name":"http","containerPort":8080},{"containerPort":8080,"protocol":"UDP"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}},"volumeMounts":[{"name":"data","mountPath":"/data/"},{"name":"token","mountPath":"/var/run/token","readOnly":true}],"readinessProbe":{"httpGet":{"path":"/","port":"http"}},"securityContext":{"capabilities":{"drop":["ALL"]}}},{"name":"helper","image":"helper:1"}]}"#,
    },
];

impl Specimen {
    /// The pod, or what makes such pods, with `labels` (and those of its own template).
    pub(super) fn object(&self, resource: Resource, labels: &BTreeMap<String, String>) -> String {
        let pairs: Vec<String> =
            labels.iter().map(|(key, value)| format!("{}:{}", quote(key), quote(value))).collect();
        let labels = pairs.join(",");
        let metadata = format!(r#"{{"name":"web","namespace":"","labels":{{{labels}}}{}}}"#, self.metadata);
        let pod = format!(r#"{{"metadata":{metadata},"spec":{}}}"#, self.spec);
        let layout = Layout::of(resource);
        let steps: Vec<&str> = layout.pod.as_str().split('/').skip(1).collect();
        if steps.is_empty() {
            return pod;
        }
        // Labels that a workload selects by are not its template's to lose: it selects by none here.
        let nested = steps.iter().rev().fold(pod, |inner, step| format!(r#"{{"{step}":{inner}}}"#));
        let nested = nested.strip_prefix('{').unwrap_or(&nested);
        format!(r#"{{"metadata":{{"name":"web","labels":{{{labels}}}}},{nested}"#)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{BTreeMap, PODS, Resource};

    #[test]
    fn the_corpus_is_json() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for specimen in PODS {
            let pod: Value = serde_json::from_str(&specimen.object(Resource::Pods, &labels)).unwrap();
            assert!(pod["spec"]["containers"][0]["name"].is_string(), "{}", specimen.name);
            let job: Value = serde_json::from_str(&specimen.object(Resource::CronJobs, &labels)).unwrap();
            assert_eq!(job["metadata"]["labels"]["app"], "web");
            assert_eq!(job["spec"]["jobTemplate"]["spec"]["template"], pod);
        }
    }
}
