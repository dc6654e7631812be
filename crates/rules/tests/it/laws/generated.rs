//! Pods that an API server accepts, and rules that sometimes apply to them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::distinct_ports::{distinct_ports, many};
use super::removable::{removals, with_removable};
use super::requests::{Request, conditions, request};

const CONTAINERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const VOLUMES: [&str; 4] = ["v", "w", "x", "y"];
const VARIABLES: [&str; 5] = ["A", "B", "C", "D", "E"];
const PATHS: [&str; 4] = ["/p", "/p/", "/q", "/r/s"];

/// A pod labelled `app: web` with one to five containers of all kinds, in a namespace.
pub(super) fn requests() -> impl Strategy<Value = Request> {
    request((pod(), any::<[bool; 4]>(), any::<bool>()).prop_map(|(pod, gone, none)| match none {
        true => pod,
        false => with_removable(pod, &gone),
    }))
}

fn pod() -> impl Strategy<Value = Value> {
    let names = Just(CONTAINERS.to_vec()).prop_shuffle();
    let volumes = prop::sample::subsequence(&VOLUMES[..], 0..=3);
    (names, 1..4_usize, 0..3_usize, volumes).prop_flat_map(|(names, plain, init, volumes)| {
        let (plain, rest) = names.split_at(plain);
        let init =
            rest[..init].iter().map(|name| (container(name, &volumes), any::<bool>()).prop_map(native));
        let plain: Vec<_> = plain.iter().map(|name| container(name, &volumes)).collect();
        let sources: Vec<_> = volumes.iter().map(|name| volume(name)).collect();
        (plain, init.collect::<Vec<_>>(), sources, annotations(), environment()).prop_map(
            |(containers, init, volumes, annotations, environment)| {
                let mut spec = json!({"containers": containers, "initContainers": init, "volumes": volumes});
                for (field, value) in environment {
                    spec[field] = value;
                }
                json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": annotations},
                    "spec": spec,
                })
            },
        )
    })
}

/// The lines of the specs of one to three rules for such pods.
pub(super) fn specs() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(spec(), 1..4)
}

fn native((mut container, native): (Value, bool)) -> Value {
    if native {
        container["restartPolicy"] = json!("Always");
    }
    container
}

fn annotations() -> impl Strategy<Value = Option<Value>> {
    let some = prop::sample::subsequence(&["l/m", "n~o", "p"][..], 0..3);
    prop::option::of(
        some.prop_map(|keys| keys.into_iter().map(|key| (key.replace('~', "."), json!("x"))).collect()),
    )
}

fn environment() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    prop::sample::select(vec![
        vec![],
        vec![("restartPolicy", json!("Never"))],
        vec![("hostNetwork", json!(true))],
        vec![("imagePullSecrets", json!([{"name": "theirs"}]))],
        vec![("os", json!({"name": "linux"})), ("tolerations", json!([{"key": "k", "operator": "Exists"}]))],
    ])
}

fn container(name: &str, volumes: &[&'static str]) -> impl Strategy<Value = Value> + use<> {
    let name = name.to_owned();
    let image = prop::sample::select(&["img", "img:1", "reg.example.com:5000/x/img"][..]);
    let mounts: Vec<&'static str> = volumes.to_vec();
    let mounts = prop::collection::vec((0..3_usize, 0..PATHS.len()), 0..3).prop_map(move |pairs| {
        let mount = |(volume, path): (usize, usize)| {
            mounts.get(volume).map(|volume| json!({"name": volume, "mountPath": PATHS[path]}))
        };
        unique(pairs.into_iter().filter_map(mount).collect(), "mountPath")
    });
    let env = prop::option::of(prop::collection::vec(variable(), 0..4));
    let ports = prop::sample::subsequence(wanted(), 0..2);
    (image, env, mounts, ports).prop_map(move |(image, env, mounts, ports)| {
        let mut container = json!({"name": name, "image": image, "volumeMounts": mounts, "ports": ports});
        if let Some(env) = env {
            container["env"] = json!(env);
        }
        container
    })
}

fn wanted() -> Vec<Value> {
    vec![
        json!({"containerPort": 80}),
        json!({"containerPort": 80, "protocol": "UDP"}),
        json!({"containerPort": 81, "name": "web"}),
    ]
}

fn variable() -> impl Strategy<Value = Value> {
    let value = prop::sample::select(&["x", "y", "$(A)-$(B)", "$$(C)", ""][..]);
    (prop::sample::select(&VARIABLES[..]), value)
        .prop_map(|(name, value)| json!({"name": name, "value": value}))
}

fn volume(name: &str) -> impl Strategy<Value = Value> + use<> {
    let name = name.to_owned();
    let sources = vec![
        ("emptyDir", json!({})),
        ("emptyDir", json!({"sizeLimit": "1Gi"})),
        ("configMap", json!({"name": "m"})),
        ("secret", json!({"secretName": "s", "defaultMode": 256})),
    ];
    prop::sample::select(sources).prop_map(move |(source, value)| json!({"name": name, source: value}))
}

fn policy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["keep", "override", "skipRule", "deny"][..])
}

fn spec() -> impl Strategy<Value = String> {
    let volumes = prop::sample::subsequence(&VOLUMES[..], 0..=2)
        .prop_flat_map(|names| names.into_iter().map(volume).collect::<Vec<_>>());
    let labels = prop::sample::select(vec![
        json!({}),
        json!({"l": "m"}),
        json!({"l": "n", "example.com/o": "p"}),
        json!({"l": {"$cel": "labelValue(object.spec.containers[0].name)"}}),
    ]);
    let brought = (prop::collection::vec(injected(), 0..4), [many(), many()]);
    let brought = brought.prop_map(|(brought, counts)| distinct_ports(unique(brought, "name"), counts));
    let laid = (brought, prop::collection::vec(block(), 0..3), volumes);
    let asks = (conditions(""), removals());
    (laid, labels, pod_spec(), pull_secrets(), asks, policy(), -1..2_i32).prop_map(
        |((injected, mut blocks, volumes), labels, pod_spec, secrets, (conditions, removals), policy, order)| {
            let (sidecars, plain): (Vec<_>, Vec<_>) =
                injected.into_iter().partition(|one| !one["mode"].is_null());
            let mut annotations = conditions.annotations;
            annotations["marker"] = json!(order.to_string());
            blocks.extend(conditions.blocks);
            format!(
                "order: {order}\nonConflict: {policy}\nsidecars: {}\ninitContainers: {}\ncontainerPatches: {}\nvolumes: {}\npod: {}\nimagePullSecrets: {secrets}\nremove: {removals}\n{}",
                json!(sidecars),
                json!(plain),
                json!(blocks),
                json!(volumes),
                json!({"labels": labels, "annotations": annotations, "spec": pod_spec}),
                conditions.lines,
            )
        },
    )
}

fn pod_spec() -> impl Strategy<Value = Value> {
    let policies = prop::option::of(policy());
    let fields = prop::sample::select(vec![
        json!({}),
        json!({"terminationGracePeriodSeconds": 30}),
        json!({"tolerations": [{"key": "ours", "operator": "Exists"}], "priority": 0}),
        json!({"securityContext": {"runAsNonRoot": true, "supplementalGroups": [7]}}),
        json!({"nodeSelector": {"disk": "fast"}, "dnsPolicy": "Default"}),
        json!({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["one"]}]}),
    ]);
    (fields, policies).prop_map(|(mut fields, policy)| {
        if let Some(policy) = policy {
            fields["onConflict"] = json!(policy);
        }
        fields
    })
}

fn pull_secrets() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["[]", "[{name: theirs}]", "[{name: ours}, {name: theirs}]"][..])
}

/// A sidecar, or without a mode an init container.
fn injected() -> impl Strategy<Value = Value> {
    let mode = prop::sample::select(&[None, Some("native"), Some("regular"), Some("auto")][..]);
    let place = prop::sample::select(vec![
        json!("first"),
        json!("last"),
        json!({"before": "a"}),
        json!({"after": "b"}),
    ]);
    let named = prop::sample::select(&CONTAINERS[..]).prop_flat_map(|name| container(name, &VOLUMES[..2]));
    (named, mode, prop::option::of(place), any::<bool>()).prop_map(|(mut container, mode, place, strict)| {
        container["mode"] = json!(mode);
        let fields = container.as_object_mut().unwrap();
        fields.retain(|_, value| !value.is_null());
        if let Some(env) = fields.get_mut("env") {
            *env = json!(unique(env.as_array().unwrap().clone(), "name"));
        }
        // A container that is anchored to itself is refused.
        let itself = |place: &Value| [&place["before"], &place["after"]].contains(&&container["name"]);
        if let Some(place) = place.filter(|place| !itself(place)) {
            container["position"] = match mode {
                Some("regular") => json!({"containers": place, "strict": strict}),
                Some("auto") => {
                    json!({"containers": place.clone(), "initContainers": place, "strict": strict})
                }
                _ => json!({"initContainers": place, "strict": strict}),
            };
        }
        container
    })
}

fn block() -> impl Strategy<Value = Value> {
    let select = prop::sample::select(vec![
        json!({"all": true}),
        json!({"all": true, "init": true}),
        json!({"all": true, "exclude": ["a"]}),
        json!({"index": 0}),
        json!({"names": ["a", "b"]}),
        json!({"images": ["img"]}),
    ]);
    let env = prop::collection::vec(variable(), 0..4).prop_map(|env| unique(env, "name"));
    let mounts = prop::collection::vec((0..VOLUMES.len(), 0..PATHS.len()), 0..2).prop_map(|pairs| {
        let mounts = pairs.into_iter();
        let mounts = mounts.map(|(volume, path)| json!({"name": VOLUMES[volume], "mountPath": PATHS[path]}));
        unique(mounts.collect(), "mountPath")
    });
    (select, env, mounts, policy(), any::<bool>()).prop_map(|(select, env, mounts, policy, resources)| {
        let mut block = json!({"select": select, "env": env, "volumeMounts": mounts, "onConflict": policy});
        if resources {
            block["resources"] = json!({"requests": {"cpu": "100m"}});
            block["securityContext"] =
                json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
            block["args"] = json!(["one"]);
            block["replace"] = json!(["args"]);
        }
        block
    })
}

/// The first of each `key`; paths are one with and without a slash at their end.
pub(super) fn unique(mut items: Vec<Value>, key: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    items.retain(|item| {
        let key = item[key].as_str().unwrap().trim_end_matches('/').to_owned();
        let new = !seen.contains(&key);
        seen.push(key);
        new
    });
    items
}
