//! Things in pods that some rules remove and no rule adds; most of them are called `gone`.

use proptest::prelude::*;
use serde_json::{Value, json};

/// `pod` with some of these things.
pub(super) fn with_removable(mut pod: Value, of: &[bool; 4]) -> Value {
    let [variables, ports, mounts, others] = *of;
    let spec = &mut pod["spec"];
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let adds = [
                ("env", json!({"name": "GONE", "value": "$(A)"}), variables),
                ("ports", json!({"name": "gone", "containerPort": 90}), ports && list == "containers"),
                ("volumeMounts", json!({"name": "gone", "mountPath": "/gone/"}), mounts),
            ];
            for (list, item, wanted) in adds {
                if wanted {
                    let mut items = container[list].as_array().cloned().unwrap_or_default();
                    items.insert(items.len() / 2, item);
                    container[list] = json!(items);
                }
            }
        }
    }
    if mounts || others {
        let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        volumes.insert(0, json!({"name": "gone", "emptyDir": {}}));
        spec["volumes"] = json!(volumes);
    }
    if others {
        spec["nodeSelector"] = json!({"gone": "x", "stays": "x"});
        spec["hostAliases"] = json!([{"ip": "1.1.1.1", "hostnames": ["gone"]}]);
        pod["metadata"]["labels"]["gone"] = json!("x");
    }
    pod
}

/// The field `remove` of a rule.
pub(super) fn removals() -> impl Strategy<Value = Value> {
    let all = vec![
        json!({"env": {"containers": "all", "init": true, "name": "GONE"}}),
        json!({"env": {"containers": ["a", "b"], "name": "GONE"}}),
        json!({"ports": {"containers": "all", "containerPort": 90}}),
        // Only of the pod's own containers: sidecars of rules may have it.
        json!({"ports": {"containers": ["a"], "containerPort": 80}}),
        json!({"volumeMounts": {"containers": "all", "init": true, "mountPath": "/gone"}}),
        json!({"volumes": {"name": "gone"}}),
        json!({"labels": {"key": "gone"}}),
        json!({"annotations": {"key": "l/m"}}),
        json!({"nodeSelector": {"key": "gone"}}),
        json!({"hostAliases": {"ip": "1.1.1.1"}}),
        json!({"tolerations": {"key": "k"}}),
    ];
    prop_oneof![
        1 => Just(json!([])),
        1 => prop::sample::subsequence(all, 1..4).prop_map(Value::from),
    ]
}
