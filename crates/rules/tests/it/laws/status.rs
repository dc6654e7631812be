//! The status lists everything that rules have added: removing these parts restores the pod.

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_rules::STATUS_ANNOTATION;

use super::cases;
use super::generated::{requests, specs};
use super::requests::conditions;
use crate::kit::{applied, evaluate, rule, rules, words};

/// The spec of a rule with unique names, so that it conflicts with nothing. It removes only things of its own.
fn disjoint_rule(name: &'static str, own: &'static str) -> impl Strategy<Value = String> {
    let sidecars = prop::sample::select(vec![
        json!([]),
        json!([{"name": format!("{name}-s"), "image": "s"}]),
        json!([{"name": format!("{name}-s"), "image": "s"}, {"name": format!("{name}-t"), "image": "t", "mode": "regular"}]),
        json!([{"name": format!("{name}-u"), "image": "u", "mode": "regular", "position": {"containers": "first"}}]),
    ]);
    let init = prop::sample::select(vec![json!([]), json!([{"name": format!("{name}-i"), "image": "i"}])]);
    let labels = prop::sample::select(vec![json!({}), json!({format!("{name}.example.com/l"): "m"})]);
    let removals = prop::sample::subsequence(
        vec![
            json!({"annotations": {"key": format!("{name}.example.com/gone")}}),
            json!({"env": {"containers": "all", "init": true, "name": format!("{name}_GONE")}}),
        ],
        0..=2,
    );
    (sidecars, init, block(name), labels, pod_spec(name), removals, conditions(own)).prop_map(
        move |(sidecars, init, block, labels, pod_spec, removals, conditions)| {
            let mut annotations = labels.clone();
            annotations.as_object_mut().unwrap().extend(conditions.annotations.as_object().unwrap().clone());
            let blocks: Vec<_> = std::iter::once(block).chain(conditions.blocks).collect();
            format!(
                "sidecars: {sidecars}\ninitContainers: {init}\nvolumes: {}\nimagePullSecrets: {}\npod: {}\ncontainerPatches: {}\n\
                 remove: {}\n{}",
                json!([{"name": format!("{name}-v"), "emptyDir": {}}]),
                json!([{"name": format!("{name}-secret")}]),
                json!({"labels": labels, "annotations": annotations, "spec": pod_spec}),
                json!(blocks),
                json!(removals),
                conditions.lines,
            )
        },
    )
}

/// A block of the rule. A port goes to one container only.
fn block(name: &'static str) -> impl Strategy<Value = Value> {
    let select = prop::sample::select(vec![
        json!({"all": true}),
        json!({"all": true, "init": true}),
        json!({"names": ["a", "b"]}),
        json!({"index": 0}),
    ]);
    let variables = prop::sample::subsequence(
        vec![
            json!({"name": format!("{name}_1"), "value": "$(A)"}),
            json!({"name": format!("{name}_2"), "value": ""}),
        ],
        0..=2,
    );
    let sources = prop::sample::subsequence(
        vec![
            json!({"configMapRef": {"name": format!("{name}-c")}}),
            json!({"prefix": "P", "secretRef": {"name": format!("{name}-e"), "optional": true}}),
        ],
        0..=2,
    );
    let ports = ports(name);
    let sets = match name {
        "one" => json!({"resources": {"requests": {"cpu": "100m"}, "limits": {"example.com/a": "1"}}}),
        _ => json!({"securityContext": {"runAsUser": 1, "capabilities": {"drop": ["ALL"]}}, "tty": true}),
    };
    (select, variables, sources, any::<bool>(), any::<bool>()).prop_map(
        move |(select, variables, sources, has_ports, has_more)| {
            let volume = format!("{name}-v");
            let mut block = json!({"select": select, "env": variables, "envFrom": sources});
            block["volumeMounts"] = json!([{"name": volume, "mountPath": format!("/{name}")}]);
            if has_more {
                block.as_object_mut().unwrap().extend(sets.as_object().unwrap().clone());
                block["volumeDevices"] = json!([{"name": volume, "devicePath": format!("/dev/{name}")}]);
            }
            if has_ports && select == json!({"index": 0}) {
                block["ports"] = ports.clone();
            }
            block
        },
    )
}

fn ports(name: &str) -> Value {
    let number = 9_000 + name.len() * 10 + usize::from(name == "two");
    json!([{"containerPort": number}, {"containerPort": number, "protocol": "UDP", "name": format!("{name}-udp")}])
}

fn pod_spec(name: &'static str) -> impl Strategy<Value = Value> {
    let scalar = if name == "one" {
        json!({"terminationGracePeriodSeconds": 7, "dnsConfig": {"searches": ["s"]}, "replace": ["dnsConfig"]})
    } else {
        json!({"schedulerName": "s"})
    };
    let number = usize::from(name == "one");
    prop::sample::select(vec![
        json!({}),
        scalar,
        json!({"tolerations": [{"key": format!("{name}-t"), "operator": "Exists"}]}),
        json!({"nodeSelector": {format!("{name}.example.com/n"): "x"}, "securityContext": {"supplementalGroups": [number]}}),
        json!({"hostAliases": [{"ip": format!("10.0.0.{number}"), "hostnames": ["h"]}]}),
    ])
}

/// The pod with the things that rules of these names remove.
fn with_things_of_rules(mut pod: Value, names: &[&str]) -> Value {
    for name in names {
        if pod["metadata"]["annotations"].is_null() {
            pod["metadata"]["annotations"] = json!({});
        }
        pod["metadata"]["annotations"][format!("{name}.example.com/gone")] = json!("x");
        for list in ["containers", "initContainers"] {
            for container in pod["spec"][list].as_array_mut().unwrap() {
                let mut env = container["env"].as_array().cloned().unwrap_or_default();
                env.push(json!({"name": format!("{name}_GONE"), "value": "x"}));
                container["env"] = json!(env);
            }
        }
    }
    pod
}

/// Removes from the pod the things that the rule `name` with this `spec` removes.
fn remove_things_of_rule(pod: &mut Value, name: &str, spec: &str) {
    let (annotation, variable) = (format!("{name}.example.com/gone"), format!("{name}_GONE"));
    if spec.contains(&annotation) {
        pod["metadata"]["annotations"].as_object_mut().unwrap().remove(&annotation).unwrap();
    }
    if spec.contains(&variable) {
        for list in ["containers", "initContainers"] {
            for container in pod["spec"][list].as_array_mut().unwrap() {
                container["env"].as_array_mut().unwrap().retain(|one| one["name"] != json!(variable));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn removing_what_the_status_lists_restores_the_pod(
        request in requests(),
        one in disjoint_rule("one", "one."),
        two in disjoint_rule("two", "two."),
    ) {
        let pod = with_things_of_rules(request.pod.clone(), &["one", "two"]);
        let (text, rules) = (pod.to_string(), rules(&(rule("one", &one) + &rule("two", &two))));
        let subject = request.creation(&text);
        let mut made: Value = serde_json::from_str(&applied(&rules, &subject)).unwrap();
        // Both rules may be skipped: for a regular sidecar in a Job's pod, or without opt-in.
        let Some(status) = made["metadata"]["annotations"].as_object_mut().unwrap().remove(STATUS_ANNOTATION) else {
            prop_assert_eq!(made, pod);
            return Ok(());
        };
        let status: Value = serde_json::from_str(status.as_str().unwrap()).unwrap();
        prop_assert_eq!(&status["cfg"], rules.hash());
        prop_assert!(status.get("more").is_none());
        let mut before = pod;
        let mut count = 0;
        for (word, (name, spec)) in words(&evaluate(&rules, &subject)).iter().zip([("one", &one), ("two", &two)]) {
            if *word == "applied" {
                remove_things_of_rule(&mut before, name, spec);
                count += 1;
            }
        }
        prop_assert_eq!(status["rules"].as_array().unwrap().len(), count);
        for word in status["add"].as_array().unwrap() {
            remove(&mut made, word.as_str().unwrap());
        }
        prop_assert_eq!(without_empty(&made), without_empty(&before));
    }

    #[test]
    fn the_status_is_the_last_of_several_operations(request in requests(), specs in specs()) {
        let text: String = specs.iter().zip(["one", "two", "three"]).map(|(spec, name)| rule(name, spec)).collect();
        let decision = evaluate(&rules(&text), &request.creation(&request.pod.to_string()));
        let changes = decision.changes();
        let statuses = changes.iter().filter(|change| &*change.origin.clause == "status").count();
        prop_assert_eq!(statuses, usize::from(!changes.is_empty()));
        prop_assert!(changes.len() != 1);
        prop_assert!(changes.last().is_none_or(|change| &*change.origin.clause == "status"));
    }
}

/// Removes the part that a word of the status names.
fn remove(pod: &mut Value, word: &str) {
    let (kind, name) = word.split_once(':').unwrap();
    let of_containers = match kind {
        "label" | "annotation" => {
            let map = pod["metadata"][format!("{kind}s")].as_object_mut().unwrap();
            return drop(map.remove(name).unwrap());
        }
        "spec" => return remove_within(&mut pod["spec"], name),
        "vol" => return remove_within(&mut pod["spec"]["volumes"], name),
        "init" => return remove_within(&mut pod["spec"]["initContainers"], name),
        "container" => return remove_within(&mut pod["spec"]["containers"], name),
        "pullSecret" => return remove_within(&mut pod["spec"]["imagePullSecrets"], name),
        "env" | "envFrom" => Some(kind),
        "mount" => Some("volumeMounts"),
        "device" => Some("volumeDevices"),
        "port" => Some("ports"),
        "set" => None,
        other => panic!("`{other}` of {word}"),
    };
    let (container, name) = name.split_once('/').unwrap();
    let spec = pod["spec"].as_object_mut().unwrap();
    let all = spec.iter_mut().filter(|(list, _)| list.ends_with("ontainers"));
    let mut all = all.flat_map(|(_, list)| list.as_array_mut().unwrap());
    let container = all.find(|one| one["name"] == container).unwrap();
    match of_containers {
        Some(list) => remove_within(&mut container[list], name),
        None => remove_within(container, name),
    }
}

/// Removes the member that the last step of `way` names.
fn remove_within(place: &mut Value, way: &str) {
    match place {
        Value::Array(items) => {
            let index = items.iter().position(|item| is_called(item, way));
            items.remove(index.unwrap_or_else(|| panic!("{way} is not there")));
        }
        Value::Object(members) if members.contains_key(way) => drop(members.remove(way)),
        _ => {
            let (step, rest) = way.split_once('/').unwrap_or_else(|| panic!("{way} is not there"));
            remove_within(&mut place[step], rest);
        }
    }
}

/// Whether the status calls this item `name`.
fn is_called(item: &Value, name: &str) -> bool {
    let port = || format!("{}/{}", item["containerPort"], item["protocol"].as_str().unwrap_or("TCP"));
    let keys = ["mountPath", "devicePath", "ip"];
    match keys.iter().find_map(|key| item[key].as_str()) {
        Some(key) => key == name,
        None if item["containerPort"].is_number() => port() == name,
        None if item.is_object() => {
            let nested =
                ["configMapRef", "secretRef"].iter().find_map(|source| item[source]["name"].as_str());
            [item["name"].as_str(), item["key"].as_str(), nested].contains(&Some(name))
        }
        None => item.as_str().map_or_else(|| item.to_string(), str::to_owned) == name,
    }
}

/// The pod without empty lists and maps.
fn without_empty(value: &Value) -> Value {
    let empty = |value: &Value| {
        value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), without_empty(value)));
            // An empty source of a volume has a meaning.
            members.filter(|(name, value)| name == "emptyDir" || !empty(value)).collect()
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}
