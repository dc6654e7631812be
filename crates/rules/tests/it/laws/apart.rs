//! Ports that do not meet: two containers of one rule that want the same are an error of the rule.

use proptest::prelude::*;
use serde_json::{Value, json};

/// How many ports: around as many as somebody looks for one by one.
pub(super) fn many() -> impl Strategy<Value = usize> {
    prop::sample::select(&[0, 0, 1, 2, 7, 8, 9, 12][..])
}

/// The first of `containers` listens to what it did, the others to so many ports of their own as `counts` says.
pub(super) fn apart(mut containers: Vec<Value>, counts: [usize; 2]) -> Vec<Value> {
    for (number, (container, count)) in containers.iter_mut().skip(1).zip(counts).enumerate() {
        let start = 100 * (number + 1);
        container["ports"] = (start..start + count).map(|port| json!({"containerPort": port})).collect();
    }
    containers
}
