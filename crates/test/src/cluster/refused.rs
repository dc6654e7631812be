//! What an app asked the API server for and had no right to, as the audit log tells.

use std::collections::BTreeSet;

use serde_json::Value;

use vestibule::identity::NamespacedName;

/// The rights that `account` was refused, each once: `list configmaps in shop`.
pub(super) fn rights(log: &[Value], account: &NamespacedName) -> Vec<String> {
    let user = format!("system:serviceaccount:{}:{}", account.namespace, account.name);
    // A 403 may also be a webhook's denial, or a quota: those are no matter of roles.
    let refused = log.iter().filter(|event| {
        event["user"]["username"] == user.as_str()
            && event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    });
    let told: BTreeSet<String> = refused.map(tell).collect();
    told.into_iter().collect()
}

fn tell(event: &Value) -> String {
    let part = |member: &str| event["objectRef"][member].as_str().unwrap_or_default();
    let mut told = format!("{} {}", event["verb"].as_str().unwrap_or_default(), part("resource"));
    for (word, member) in [("/", "subresource"), (" ", "name"), (" in ", "namespace")] {
        if !part(member).is_empty() {
            told.push_str(word);
            told.push_str(part(member));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_denied_or_somebody_elses_is_no_missing_right() {
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
        assert_eq!(rights(&log, &account), [""; 0]);
        let log = [event("web", "forbid"), event("web", "forbid")];
        assert_eq!(rights(&log, &account), ["update deployments/scale a in shop"]);
    }
}
