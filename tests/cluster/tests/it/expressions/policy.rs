//! Puts expressions as validations into ValidatingAdmissionPolicies; each that is false is a warning.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::Result;
use crate::cluster::{Cluster, Namespace, Reply, TEST};
use crate::samples::config_map;

const API: &str = "/apis/admissionregistration.k8s.io/v1";
const SENTINEL: &str = "the policy is in force";

/// The expressions of a policy: the API server sends 4,096 characters of warnings, 256 for each.
const TOGETHER: usize = 10;

/// A policy for the ConfigMap of its name.
pub(super) struct Policy<'p> {
    cluster: &'p Cluster,
    name: String,
    expressions: &'p [&'p str],
}

/// The results of `expressions` in the API server.
pub(super) async fn answers(cluster: &Cluster, expressions: &[&str]) -> Vec<Result> {
    let namespace = cluster.namespace(&[]).await;
    let policies = expressions.chunks(TOGETHER).enumerate().map(|(number, expressions)| {
        let name = format!("{}-{number}", cluster.home.name());
        Policy { cluster, name, expressions }
    });
    let policies: Vec<Policy<'_>> = policies.collect();
    let mut unreadable = Vec::new();
    for policy in &policies {
        unreadable.push(policy.create().await);
    }
    let mut answers = Vec::new();
    for (policy, unreadable) in policies.iter().zip(&unreadable) {
        answers.extend(policy.answers(&namespace, unreadable).await);
    }
    for policy in &policies {
        policy.delete().await;
    }
    answers
}

impl Policy<'_> {
    /// Creates a policy of all expressions that compile, and returns the indexes of the others.
    async fn create(&self) -> Vec<usize> {
        let mut unreadable = Vec::new();
        loop {
            let left: Vec<usize> =
                (0..self.expressions.len()).filter(|index| !unreadable.contains(index)).collect();
            let policies = format!("{API}/validatingadmissionpolicies");
            let reply = self.send(Method::POST, &policies, &self.policy(&left)).await;
            if reply.status == 201 {
                break;
            }
            let refused = reply.json()["details"]["causes"].as_array().cloned().unwrap_or_default();
            let refused = refused.iter().filter_map(|cause| {
                let field = cause["field"].as_str()?.strip_prefix("spec.validations[")?;
                field.split_once(']')?.0.parse::<usize>().ok()
            });
            let refused: Vec<usize> = refused.map(|index| left[index]).collect();
            assert!(!refused.is_empty(), "{}", reply.text);
            unreadable.extend(refused);
        }
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": self.name},
            "spec": {"policyName": self.name, "validationActions": ["Warn"],
                     "matchResources": {"namespaceSelector": {"matchLabels": {TEST: self.cluster.home.name()}}}}
        });
        self.send(Method::POST, &format!("{API}/validatingadmissionpolicybindings"), &binding).await.object();
        unreadable
    }

    fn policy(&self, indexes: &[usize]) -> Value {
        let validation = |index: &usize| json!({"expression": self.written(*index), "message": told(*index)});
        let mut validations = vec![json!({"expression": "false", "message": SENTINEL})];
        validations.splice(..0, indexes.iter().map(validation));
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": self.name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
                     "resourceNames": [self.name]}
                ]},
                "variables": [{"name": "object", "expression": literal(&super::pod())}],
                "validations": validations
            }
        })
    }

    /// The pod is a variable of the policy, because a pod in a request has to be valid and gets a name.
    fn written(&self, index: usize) -> String {
        self.expressions[index].replace("object.", "variables.object.")
    }

    /// The warnings about the expressions, as soon as the policy is in force.
    async fn answers(&self, namespace: &Namespace, unreadable: &[usize]) -> Vec<Result> {
        let end = Instant::now() + Duration::from_secs(60);
        let warnings = loop {
            let reply = namespace.create_dry_run(&config_map(&self.name)).await;
            reply.object();
            if reply.warnings.iter().any(|warning| warning.ends_with(SENTINEL)) {
                break reply.warnings;
            }
            assert!(Instant::now() < end, "the policy never came into force");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let said = |what: &str| warnings.iter().any(|warning| warning.contains(what));
        let answer = |index: usize| {
            // The API server quotes the beginning of an expression that fails.
            let written: String = self.written(index).chars().take(60).collect();
            match () {
                () if unreadable.contains(&index) || said(&format!(": expression '{written}")) => {
                    Result::Error
                }
                () if said(&told(index)) => Result::False,
                () => Result::True,
            }
        };
        (0..self.expressions.len()).map(answer).collect()
    }

    async fn delete(&self) {
        for kind in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
            self.send(Method::DELETE, &format!("{API}/{kind}/{}", self.name), &Value::Null).await.object();
        }
    }

    async fn send(&self, method: Method, uri: &str, body: &Value) -> Reply {
        Reply::to(&self.cluster.client(), method, uri, "application/json", body).await
    }
}

fn told(index: usize) -> String {
    format!("validation {index} is false")
}

/// A value in CEL, whose parts may be of any kind.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("'{name}': dyn({})", literal(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| format!("dyn({})", literal(item)));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        single => single.to_string(),
    }
}
