//! Rules with many ports, some of which several containers want.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::distinct_ports::many;

/// The ports that several containers want.
const WANTED: [usize; 4] = [80, 81, 82, 83];

/// A pod, and the specs of rules with many ports, some of them the same.
pub(super) fn listening() -> impl Strategy<Value = (Value, Vec<String>)> {
    let users = prop::sample::subsequence(&WANTED[..], 0..2).prop_map(|ports| {
        let ports: Vec<_> = ports.into_iter().map(|port| json!({"containerPort": port})).collect();
        json!({
            "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "i", "ports": ports}, {"name": "other", "image": "i"}]},
        })
    });
    (users, prop::collection::vec(spec(), 2..5)).prop_map(|(pod, specs)| {
        let specs =
            specs.into_iter().enumerate().map(|(number, spec)| spec.replace('@', &number.to_string()));
        (pod, specs.collect())
    })
}

/// Names contain `@` in place of the number of the rule.
fn spec() -> impl Strategy<Value = String> {
    let sidecars = prop::collection::vec((many(), prop::sample::select(&["native", "regular"][..])), 1..4);
    // The sidecar that has each of the wanted ports; other numbers stand for none, and for a container of the pod.
    let owners = prop::collection::vec(0..6_usize, WANTED.len());
    let policy = prop::sample::select(&["keep", "override", "skipRule", "skipRule"][..]);
    let start = prop::sample::select(&[1_000, 2_000, 3_000][..]);
    (sidecars, owners, policy, start).prop_map(|(sidecars, owners, policy, start)| {
        let port = |port: usize| json!({"containerPort": port});
        let wanted = |owner: usize| {
            let wanted = WANTED.iter().zip(&owners).filter(move |(_, one)| **one == owner);
            wanted.map(|(wanted, _)| port(*wanted)).collect::<Vec<_>>()
        };
        let all: Vec<_> = sidecars
            .into_iter()
            .enumerate()
            .map(|(number, (count, mode))| {
                let mut ports = wanted(number);
                ports.extend((0..count).map(|more| port(start + 100 * number + more)));
                json!({"name": format!("s@{number}"), "image": "i", "mode": mode, "ports": ports})
            })
            .collect();
        let block = json!({"select": {"names": ["other"]}, "ports": wanted(5)});
        format!("onConflict: {policy}\nsidecars: {}\ncontainerPatches: [{block}]", json!(all))
    })
}
