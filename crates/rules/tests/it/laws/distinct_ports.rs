//! Makes the ports of one rule distinct: two containers of a rule with the same port are an error of the rule.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Numbers of ports around the limit from which lists are indexed.
pub(super) fn many() -> impl Strategy<Value = usize> {
    prop::sample::select(&[0, 0, 1, 2, 7, 8, 9, 12][..])
}

/// The first of `containers` keeps its ports; each other one gets as many distinct ports as `counts` says.
pub(super) fn distinct_ports(mut containers: Vec<Value>, counts: [usize; 2]) -> Vec<Value> {
    for (number, (container, count)) in containers.iter_mut().skip(1).zip(counts).enumerate() {
        let start = 100 * (number + 1);
        container["ports"] = (start..start + count).map(|port| json!({"containerPort": port})).collect();
    }
    containers
}
