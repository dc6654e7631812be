//! The created pods and their outcomes.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

/// The outcome of a pod, and the time span of its creation.
#[derive(Clone, Debug)]
pub struct CreatedPod {
    /// The time just before the request was sent.
    pub begun: Instant,
    /// The time just after the answer.
    pub ended: Instant,
    /// The outcome.
    pub outcome: Outcome,
}

/// The injected parts of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The pod has no injected part.
    NotInjected,
    /// The pod has all parts of one version.
    Injected {
        /// The version that every part names, such as `v12`.
        version: String,
        /// The hash of the rules in the pod's annotation.
        hash: String,
    },
    /// Parts are missing or differ in version; a description.
    Partial(String),
}

/// A pod that the rules match.
pub(super) fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
           "spec": {"containers": [{"name": "app", "image": "app:1"}]}})
}

impl Outcome {
    /// Reads the outcome from `pod`: image and variable of the sidecar, its volume, and the variable of the first container.
    pub(super) fn of(pod: &Value) -> Self {
        let spec = &pod["spec"];
        let named = |list: &Value, name: &str| -> Vec<Value> {
            let items = list.as_array().into_iter().flatten();
            items.filter(|item| item["name"] == name).cloned().collect()
        };
        let only = |found: Vec<Value>| if found.len() == 1 { found.into_iter().next() } else { None };
        let sidecars = named(&spec["containers"], "meter");
        let (count, sidecar) = (sidecars.len(), only(sidecars).unwrap_or_default());
        let volume = only(named(&spec["volumes"], "meter")).unwrap_or_default();
        let mount = only(named(&sidecar["volumeMounts"], "meter")).unwrap_or_default();
        let variable =
            |container: &Value, name: &str| only(named(&container["env"], name)).unwrap_or_default();
        let part = |value: &Value, before: &str| {
            value.as_str().and_then(|text| text.strip_prefix(before)).map(str::to_owned)
        };
        let parts = [
            part(&sidecar["image"], "meter:"),
            part(&variable(&sidecar, "VERSION")["value"], ""),
            part(&volume["configMap"]["name"], "meter-"),
            part(&variable(&spec["containers"][0], "BANNER")["value"], ""),
        ];
        let status = pod["metadata"]["annotations"]["vestibule.dev/injected"].as_str();
        let hash = status.and_then(|status| serde_json::from_str::<Value>(status).ok());
        let hash = hash.and_then(|status| part(&status["cfg"], ""));
        let versions: BTreeSet<_> = parts.iter().collect();
        match (versions.into_iter().collect::<Vec<_>>().as_slice(), &hash) {
            ([None], None) if count == 0 => Self::NotInjected,
            ([Some(version)], Some(hash)) if count == 1 && mount["mountPath"] == "/etc/meter" => {
                Self::Injected { version: version.clone(), hash: hash.clone() }
            }
            _ => Self::Partial(format!("{count} sidecars, {parts:?}, hash {hash:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injected() -> Value {
        let mut pod = pod();
        pod["metadata"]["annotations"]["vestibule.dev/injected"] = json!(r#"{"v":1,"cfg":"abc"}"#);
        pod["spec"]["volumes"] = json!([{"name": "meter", "configMap": {"name": "meter-v1"}}]);
        pod["spec"]["containers"][0]["env"] = json!([{"name": "BANNER", "value": "v1"}]);
        let sidecar = json!({
            "name": "meter", "image": "meter:v1", "env": [{"name": "VERSION", "value": "v1"}],
            "volumeMounts": [{"name": "meter", "mountPath": "/etc/meter"}],
        });
        pod["spec"]["containers"].as_array_mut().unwrap().push(sidecar);
        pod
    }

    #[test]
    fn the_outcome_is_read_from_the_injected_parts() {
        assert_eq!(Outcome::of(&pod()), Outcome::NotInjected);
        let expected = Outcome::Injected { version: "v1".to_owned(), hash: "abc".to_owned() };
        assert_eq!(Outcome::of(&injected()), expected);
        for (pointer, value) in [
            ("/metadata/annotations", json!({})),
            ("/spec/volumes", json!([])),
            ("/spec/containers/0/env/0/value", json!("v2")),
            ("/spec/containers/1/image", json!("meter:v2")),
            ("/spec/containers/1/name", json!("other")),
            ("/spec/containers/1/env", json!([])),
            ("/spec/containers/1/volumeMounts", json!([])),
        ] {
            let mut pod = injected();
            *pod.pointer_mut(pointer).unwrap() = value;
            assert!(matches!(Outcome::of(&pod), Outcome::Partial(_)), "{pointer}");
        }
        let mut twice = injected();
        let sidecar = twice["spec"]["containers"][1].clone();
        twice["spec"]["containers"].as_array_mut().unwrap().push(sidecar);
        assert!(matches!(Outcome::of(&twice), Outcome::Partial(_)));
    }
}
