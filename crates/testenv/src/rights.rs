//! Rights of ServiceAccounts: granting them, and waiting until the API server knows of them.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::error::Error;
use crate::poll;

/// The API group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";

impl Environment {
    /// Gives ServiceAccount `namespace/name` rights in addition to those that it has. Each rule comes with the namespace in
    /// which it holds; with [`None`] it holds everywhere. Returns when the first API server grants the rights.
    ///
    /// # Errors
    /// [`Error::Api`] when the API server refuses a role, [`Error::Late`] for a right that is not granted in time.
    pub async fn grant(
        &self,
        namespace: &str,
        name: &str,
        rules: impl IntoIterator<Item = (Option<String>, PolicyRule)>,
    ) -> Result<(), Error> {
        let mut roles = BTreeMap::<_, Vec<_>>::new();
        for (place, rule) in rules {
            roles.entry(place).or_default().push(rule);
        }
        // Roles in one namespace may be those of accounts of several namespaces, and of several calls.
        let role_name = format!("{namespace}-{name}-{}", self.next_number());
        let subject = json!({ "kind": "ServiceAccount", "namespace": namespace, "name": name });
        let objects = roles.into_iter().flat_map(|(place, rules)| {
            let kind = if place.is_some() { "Role" } else { "ClusterRole" };
            let metadata = json!({ "name": role_name, "namespace": place });
            let reference = json!({ "apiGroup": RBAC, "kind": kind, "name": role_name });
            let version = format!("{RBAC}/v1");
            [
                json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules }),
                json!({
                    "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
                    "roleRef": reference, "subjects": [subject],
                }),
            ]
        });
        let objects: Vec<Value> = objects.collect();
        self.apply(objects.iter().cloned()).await?;
        self.wait_until_granted(namespace, name, &objects).await
    }

    /// Returns when the first API server grants ServiceAccount `namespace/name` the rights of the Roles and ClusterRoles
    /// among `objects`. It learns of them by a watch, and refuses requests in the milliseconds before.
    ///
    /// # Errors
    /// [`Error::Late`] for a right that is not granted, for example when a role is not bound to the account.
    pub async fn wait_until_granted(
        &self,
        namespace: &str,
        name: &str,
        objects: &[Value],
    ) -> Result<(), Error> {
        let reviews: Api<SubjectAccessReview> = Api::all(self.admin()?);
        for attributes in objects.iter().flat_map(attributes) {
            let groups = ["system:serviceaccounts", "system:authenticated"].map(str::to_owned);
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    user: Some(format!("system:serviceaccount:{namespace}:{name}")),
                    groups: Some(groups.into()),
                    resource_attributes: Some(attributes.clone()),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let ResourceAttributes { verb, resource, .. } = &attributes;
            let (verb, resource) =
                (verb.as_deref().unwrap_or_default(), resource.as_deref().unwrap_or_default());
            let what = format!("ServiceAccount {namespace}/{name} being granted {verb} of {resource}");
            poll::retry(&what, 30, async || {
                let answer = reviews.create(&PostParams::default(), &review).await;
                let answer = answer.map_err(Error::api("review an access"))?;
                Ok(answer.status.is_some_and(|status| status.allowed).then_some(()))
            })
            .await?;
        }
        Ok(())
    }
}

/// One right of each rule of a role: a role takes effect as a whole, so one stands for all.
fn attributes(object: &Value) -> Vec<ResourceAttributes> {
    // A role that is part of `edit` and `admin` is not bound to the ServiceAccount.
    let is_aggregated =
        !object["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"].is_null();
    if is_aggregated || !matches!(object["kind"].as_str(), Some("Role" | "ClusterRole")) {
        return Vec::new();
    }
    let first = |rule: &Value, member: &str| rule[member][0].as_str().map(str::to_owned);
    let rules = object["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let attributes = |rule: &Value| {
        let resource = first(rule, "resources")?;
        let (resource, subresource) = match resource.split_once('/') {
            Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
            None => (resource, None),
        };
        Some(ResourceAttributes {
            group: first(rule, "apiGroups"),
            resource: Some(resource),
            subresource,
            name: first(rule, "resourceNames"),
            namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
            verb: first(rule, "verbs"),
            ..ResourceAttributes::default()
        })
    };
    rules.iter().filter_map(attributes).collect()
}
