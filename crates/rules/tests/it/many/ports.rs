//! Ports of many rules, and many ports of one rule.

use super::{POD, written};
use crate::kit::{decide, pod, words};

/// Only the last sidecar has many ports. The index has the ports of the first one as well.
#[test]
fn a_port_conflict_is_found_among_many_ports_of_one_rule() {
    let brings = |name: &str, ports: &[usize]| {
        let ports: Vec<_> = ports.iter().map(|port| format!("{{containerPort: {port}}}")).collect();
        format!("{{name: {name}, image: i, ports: [{}]}}", ports.join(", "))
    };
    for count in [1, 7, 8, 9, 20] {
        let many: Vec<_> = (9_001..).take(count).collect();
        let rules = [
            format!("sidecars: [{}, {}]", brings("s1", &[8_080]), brings("s2", &many)),
            format!("sidecars: [{}]", brings("s3", &[8_080])),
            format!("sidecars: [{}]", brings("s4", &many[..1])),
            format!("sidecars: [{}]", brings("s5", &[8_081])),
        ];
        let decision = decide(&written(rules.len(), |n| rules[n].clone()), &pod(POD));
        assert_eq!(words(&decision), ["applied", "conflict", "conflict", "applied"], "{count}");
        let taken = [("s3", 8_080, "s1"), ("s4", 9_001, "s2")];
        for (warning, (name, port, owner)) in decision.warnings.iter().zip(taken) {
            let why = format!("port {port}/TCP of container `{name}` is taken by container `{owner}`");
            assert!(warning.ends_with(&why), "{count}: {warning}");
        }
    }
}
