//! The status names all that rules have added: taking that away gives back what came in.

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_rules::STATUS_ANNOTATION;

use super::cases;
use super::generated::{pod, specs};
use crate::kit::{applied, creation, evaluate, rule, rules, words};

/// The spec of a rule all of whose names are its own, so that it meets nothing.
fn strangers(name: &'static str) -> impl Strategy<Value = String> {
    let sidecars = prop::sample::select(vec![
        json!([]),
        json!([{"name": format!("{name}-s"), "image": "s"}]),
        json!([{"name": format!("{name}-s"), "image": "s"}, {"name": format!("{name}-t"), "image": "t", "mode": "regular"}]),
        json!([{"name": format!("{name}-u"), "image": "u", "mode": "regular", "position": {"containers": "first"}}]),
    ]);
    let init = prop::sample::select(vec![json!([]), json!([{"name": format!("{name}-i"), "image": "i"}])]);
    let variables = prop::sample::subsequence(
        vec![
            json!({"name": format!("{name}_1"), "value": "$(A)"}),
            json!({"name": format!("{name}_2"), "value": ""}),
        ],
        0..=2,
    );
    let select = prop::sample::select(vec![
        json!({"all": true}),
        json!({"all": true, "init": true}),
        json!({"names": ["a", "b"]}),
        json!({"index": 0}),
    ]);
    let labels = prop::sample::select(vec![json!({}), json!({format!("{name}.example.com/l"): "m"})]);
    (sidecars, init, variables, select, labels).prop_map(move |(sidecars, init, variables, select, labels)| {
        let volume = format!("{name}-v");
        let mount = json!([{"name": volume, "mountPath": format!("/{name}")}]);
        format!(
            "sidecars: {sidecars}\ninitContainers: {init}\nvolumes: {}\nimagePullSecrets: {}\npod: {}\ncontainers: {}",
            json!([{"name": volume, "emptyDir": {}}]),
            json!([{"name": format!("{name}-secret")}]),
            json!({"labels": labels, "annotations": labels}),
            json!([{"select": select, "env": variables, "volumeMounts": mount}]),
        )
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn without_what_the_status_lists_the_pod_is_what_it_was(pod in pod(), one in strangers("one"), two in strangers("two")) {
        let rules = rules(&(rule("one", &one) + &rule("two", &two)));
        let mut made: Value = serde_json::from_str(&applied(&rules, &creation(&pod.to_string()))).unwrap();
        let Some(annotations) = made["metadata"]["annotations"].as_object_mut() else { return Ok(()) };
        // A Job's pod takes no regular sidecar: both rules may be out.
        let Some(status) = annotations.remove(STATUS_ANNOTATION) else { return Ok(()) };
        let status: Value = serde_json::from_str(status.as_str().unwrap()).unwrap();
        prop_assert_eq!(&status["cfg"], rules.hash());
        let applied = words(&evaluate(&rules, &creation(&pod.to_string())));
        let applied = applied.into_iter().filter(|word| *word == "applied").count();
        prop_assert_eq!(status["rules"].as_array().unwrap().len(), applied);
        prop_assert!(status.get("more").is_none());
        for word in status["add"].as_array().unwrap() {
            remove(&mut made, word.as_str().unwrap());
        }
        prop_assert_eq!(without_empty(&made), without_empty(&pod));
    }

    #[test]
    fn a_status_comes_last_and_never_alone(pod in pod(), specs in specs()) {
        let text: String = specs.iter().zip(["one", "two", "three"]).map(|(spec, name)| rule(name, spec)).collect();
        let decision = evaluate(&rules(&text), &creation(&pod.to_string()));
        let changes = decision.changes();
        let statuses = changes.iter().filter(|change| &*change.origin.clause == "status").count();
        prop_assert_eq!(statuses, usize::from(!changes.is_empty()));
        prop_assert!(changes.len() != 1);
        prop_assert!(changes.last().is_none_or(|change| &*change.origin.clause == "status"));
    }
}

/// Takes away what a word of the status names, which is there.
fn remove(pod: &mut Value, word: &str) {
    let (kind, name) = word.split_once(':').unwrap();
    let (list, key, name) = match kind {
        "label" | "annotation" => {
            let map = pod["metadata"][format!("{kind}s")].as_object_mut().unwrap();
            return drop(map.remove(name).unwrap());
        }
        "vol" => (&mut pod["spec"]["volumes"], "name", name),
        "init" => (&mut pod["spec"]["initContainers"], "name", name),
        "container" => (&mut pod["spec"]["containers"], "name", name),
        "pullSecret" => (&mut pod["spec"]["imagePullSecrets"], "name", name),
        "env" | "mount" => {
            let (container, name) = name.split_once('/').unwrap();
            let (list, key) = if kind == "env" { ("env", "name") } else { ("volumeMounts", "mountPath") };
            let spec = pod["spec"].as_object_mut().unwrap();
            let all = spec.iter_mut().filter(|(list, _)| list.ends_with("ontainers"));
            let mut all = all.flat_map(|(_, list)| list.as_array_mut().unwrap());
            let container = all.find(|one| one["name"] == container).unwrap();
            (&mut container[list], key, name)
        }
        other => panic!("`{other}` of {word}"),
    };
    let list = list.as_array_mut().unwrap();
    let index = list.iter().position(|item| item[key] == name);
    list.remove(index.unwrap_or_else(|| panic!("{word} is not there")));
}

/// The pod without the lists and maps that were made to hold something, and those that held nothing before.
fn without_empty(value: &Value) -> Value {
    let empty = |value: &Value| {
        value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), without_empty(value)));
            // An empty source of a volume says something.
            members.filter(|(name, value)| name == "emptyDir" || !empty(value)).collect()
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}
