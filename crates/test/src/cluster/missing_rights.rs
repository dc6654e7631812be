//! The requests of an app that RBAC refused, from the audit log of the API server.

use std::collections::BTreeSet;

use serde_json::Value;

use vestibule::identity::NamespacedName;

/// The refused requests of `account`, each once: `list configmaps in shop`.
pub(super) fn of(log: &[Value], account: &NamespacedName) -> Vec<String> {
    let user = format!("system:serviceaccount:{}:{}", account.namespace, account.name);
    // A 403 may also come from a webhook or a quota: the authorizer's annotation tells the difference.
    let refused = log.iter().filter(|event| {
        event["user"]["username"] == user.as_str()
            && event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    });
    let text: BTreeSet<String> = refused.map(describe).collect();
    text.into_iter().collect()
}

fn describe(event: &Value) -> String {
    let part = |member: &str| event["objectRef"][member].as_str().unwrap_or_default();
    let mut text = format!("{} {}", event["verb"].as_str().unwrap_or_default(), part("resource"));
    for (word, member) in [("/", "subresource"), (" ", "name"), (" in ", "namespace")] {
        if !part(member).is_empty() {
            text.push_str(word);
            text.push_str(part(member));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_denial_and_the_refusal_of_another_account_are_no_missing_rights() {
        let event = |name: &str, decision: &str| {
            json!({
                "user": { "username": format!("system:serviceaccount:shop:{name}") },
                "verb": "update",
                "objectRef": { "resource": "deployments", "subresource": "scale", "name": "a", "namespace": "shop" },
                "responseStatus": { "code": 403 },
                "annotations": { "authorization.k8s.io/decision": decision },
            })
        };
        let account = NamespacedName { namespace: "shop".to_owned(), name: "web".to_owned() };
        let log = [event("web", "allow"), event("other", "forbid")];
        assert_eq!(of(&log, &account), [""; 0]);
        let log = [event("web", "forbid"), event("web", "forbid")];
        assert_eq!(of(&log, &account), ["update deployments/scale a in shop"]);
    }
}
