//! Property tests over generated pods and rules. `VESTIBULE_CASES` sets the number of cases of each.

mod all_or_nothing;
mod distinct_ports;
mod generated;
mod many_rules;
mod removable;
mod requests;
mod shared_ports;
mod status;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{applied, evaluate, rule, rules};
use generated::unique;
use requests::{conditions, request};

/// The number of cases from the environment, or `usual`.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("VESTIBULE_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(usual), failure_persistence: None, ..ProptestConfig::default() }
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["x", "y", "$(A)-$(B)", "$(D)"][..])
}

/// A variable's name in capitals.
fn variable() -> impl Strategy<Value = Value> {
    (name(), word()).prop_map(|(name, value)| json!({"name": name.to_uppercase(), "value": value}))
}

fn mount() -> impl Strategy<Value = Value> {
    (name(), name(), any::<bool>())
        .prop_map(|(volume, path, slash)| json!({"name": volume, "mountPath": format!("/{path}{}", if slash { "/" } else { "" })}))
}

fn volume() -> impl Strategy<Value = Value> {
    (name(), prop_oneof![Just(json!({"emptyDir": {}})), Just(json!({"configMap": {"name": "m"}}))]).prop_map(
        |(name, mut volume)| {
            volume["name"] = json!(name);
            volume
        },
    )
}

fn container() -> impl Strategy<Value = Value> {
    (
        name(),
        prop::sample::select(&["img", "img:1"][..]),
        prop::option::of(prop::collection::vec(variable(), 0..4)),
        prop::option::of(prop::collection::vec(mount(), 0..3)),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(name, image, env, mounts, unknown, native)| {
            // Items that no rule adds, and some rules remove.
            let env = env.map(|mut env| {
                if native {
                    env.insert(0, json!({"name": "GONE"}));
                    env.push(json!({"name": "GONE", "value": "x"}));
                }
                env
            });
            let mut container = json!({"name": name, "image": image, "env": env});
            if let Some(mounts) = mounts {
                container["volumeMounts"] = json!(unique(mounts, "mountPath"));
            }
            if unknown {
                container["mark"] = json!({"deep": [1.5, {"mark": "here"}]});
            }
            if native {
                container["restartPolicy"] = json!("Always");
            }
            container
        })
}

fn pod() -> impl Strategy<Value = Value> {
    (
        prop::collection::vec(container(), 1..4),
        prop::option::of(prop::collection::vec(container(), 0..3)),
        prop::option::of(prop::collection::vec(volume(), 0..4)),
        prop::option::of(prop::collection::hash_map(name(), word(), 0..3)),
        beside(),
    )
        .prop_map(|(containers, init, volumes, annotations, beside)| {
            let volumes = volumes.map(|volumes| unique(volumes, "name"));
            let mut pod = json!({
                "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": annotations, "mark": 1},
                "spec": {"containers": unique(containers, "name"), "initContainers": init.map(|init| unique(init, "name")), "volumes": volumes, "mark": true},
            });
            let spec = pod["spec"].as_object_mut().unwrap();
            spec.extend(beside.as_object().unwrap().clone());
            pod
        })
}

fn policy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["keep", "override", "skipRule", "deny"][..])
}

fn injected() -> impl Strategy<Value = Value> {
    let places = ["first", "last"];
    (
        container(),
        prop::sample::select(&["native", "regular"][..]),
        prop::sample::select(places.to_vec()),
        prop::option::of(name()),
        any::<bool>(),
    )
        .prop_map(|(mut container, mode, place, anchor, strict)| {
            let name = container["name"].as_str().unwrap().to_owned();
            // Positions refer to later letters of the alphabet only, because circular positions are refused.
            let place = match anchor {
                Some(anchor) if anchor > name.as_str() => json!({"before": anchor}),
                Some(anchor) if anchor < name.as_str() => json!({"after": anchor}),
                _ => json!(place),
            };
            container["mode"] = json!(mode);
            container["position"] = match mode {
                "regular" => json!({"containers": place, "strict": strict}),
                _ => json!({"initContainers": place, "strict": strict}),
            };
            for field in ["restartPolicy", "mark"] {
                container.as_object_mut().unwrap().remove(field);
            }
            if container["env"].is_null() {
                container["env"] = json!([]);
            }
            container["env"] = json!(unique(container["env"].as_array().unwrap().clone(), "name"));
            container
        })
}

fn block() -> impl Strategy<Value = Value> {
    let select = prop_oneof![
        Just(json!({"all": true})),
        Just(json!({"all": true, "init": true})),
        Just(json!({"index": 0})),
        name().prop_map(|name| json!({"names": [name]})),
        Just(json!({"images": ["img"]})),
    ];
    (select, prop::collection::vec(variable(), 0..4), prop::collection::vec(mount(), 0..2), policy(), any::<bool>()).prop_map(
        |(select, env, mounts, policy, resources)| {
            let mut block = json!({"select": select, "env": unique(env, "name"), "volumeMounts": unique(mounts, "mountPath"), "onConflict": policy});
            if resources {
                block["resources"] = json!({"requests": {"cpu": "100m"}});
            }
            block
        },
    )
}

/// Members of the pod's specification.
fn members() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"tolerations": [{"key": "a"}, {"key": "b", "effect": "NoSchedule"}], "hostname": "h"}),
        json!({"tolerations": [{"key": "b"}], "securityContext": {"runAsUser": 1, "supplementalGroups": [1, 2]}}),
        json!({"securityContext": {"runAsUser": 2}, "dnsConfig": {"searches": ["s"]}, "replace": ["dnsConfig"]}),
        json!({"hostAliases": [{"ip": "1.1.1.1", "hostnames": ["x"]}], "nodeSelector": {"a": "b", "c": "d"}}),
    ])
}

/// Removals of things that no rule adds.
fn removals() -> impl Strategy<Value = Value> {
    let all = vec![
        json!({"env": {"containers": "all", "init": true, "name": "GONE"}}),
        json!({"env": {"containers": ["a"], "name": "GONE"}}),
        json!({"tolerations": {"key": "gone"}}),
        json!({"nodeSelector": {"key": "gone"}}),
        json!({"annotations": {"key": "gone"}}),
    ];
    prop::sample::subsequence(all, 0..3).prop_map(Value::from)
}

/// Members of a pod's specification beside its lists.
fn beside() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"tolerations": [{"key": "gone"}], "nodeSelector": {"gone": "x"}}),
        json!({"tolerations": [{"key": "gone"}, {"key": "a"}, {"key": "gone", "effect": "e"}], "hostname": "theirs"}),
        json!({"securityContext": {"supplementalGroups": [2], "mark": 1}, "dnsConfig": {"searches": ["t"], "mark": 1}}),
        json!({"hostAliases": [{"ip": "1.1.1.1", "mark": 1}], "nodeSelector": null, "securityContext": null}),
    ])
}

/// The lines of a rule's spec.
fn spec() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(injected(), 0..3),
        prop::collection::vec(block(), 0..3),
        prop::collection::vec(volume(), 0..3),
        prop::collection::hash_map(name(), prop::sample::select(&["x", "y"][..]), 1..3),
        policy(),
        -1..2_i32,
        any::<bool>(),
        members(),
        (removals(), conditions("")),
    )
        .prop_map(
            |(sidecars, mut blocks, volumes, labels, policy, order, hardened, members, (removals, asked))| {
                let mut annotations = json!(labels);
                annotations.as_object_mut().unwrap().extend(asked.annotations.as_object().unwrap().clone());
                blocks.extend(asked.blocks);
                [
                    format!("sidecars: {}", json!(unique(sidecars, "name"))),
                    format!("containerPatches: {}", json!(blocks)),
                    format!("volumes: {}", json!(unique(volumes, "name"))),
                    format!(
                        "pod: {}",
                        json!({"labels": labels, "annotations": annotations, "spec": members})
                    ),
                    format!("remove: {removals}"),
                    format!("onConflict: {policy}\norder: {order}"),
                    ["", "securityProfile: restricted"][usize::from(hardened)].to_owned(),
                    asked.lines,
                ]
                .join("\n")
            },
        )
}

/// Counts the marks of unknown fields.
fn marks(json: &str) -> usize {
    json.matches("\"mark\"").count()
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// A second evaluation changes nothing, an independent implementation agrees (`applied` checks both), and unknown fields survive.
    #[test]
    fn any_pod_any_rules(request in request(pod()), specs in prop::collection::vec(spec(), 1..4)) {
        let text: String = specs.iter().zip(["one", "two", "three"]).map(|(spec, name)| rule(name, spec)).collect();
        let rules = rules(&text);
        let pod = request.pod.to_string();
        let subject = request.creation(&pod);
        let result = applied(&rules, &subject);
        prop_assert_eq!(marks(&result), marks(&pod));
        if evaluate(&rules, &subject).changes().is_empty() {
            prop_assert_eq!(result, pod);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text gives either rules or findings.
    #[test]
    fn any_text(text in "[-{}\\[\\]:,\"'&*!|> \na-c0-9]{0,60}") {
        let read = vestibule_rules::yaml::read("any.yaml", &text);
        if let Ok(documents) = read {
            for document in documents {
                prop_assert!(serde_json::from_str::<Value>(&document.to_json()).is_ok());
            }
        }
    }
}
