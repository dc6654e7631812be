//! The time for a large pod grows linearly with its size.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::kit::{creation, evaluate, pod, rule, rules, steps};

#[test]
fn ten_thousand_variables() {
    let mut env = String::new();
    for number in 0..10_000 {
        write!(env, r#"{{"name":"V{number}","value":"$(V{})"}},"#, number / 2).unwrap();
    }
    let pod = pod(&format!(r#"{{"containers":[{{"name":"app","env":[{}]}}]}}"#, env.trim_end_matches(',')));
    let rules = rules(&rule(
        "r",
        "containerPatches:\n- select: {all: true}\n  env: [{name: A, value: x}, {name: B, value: $(V9)}]",
    ));
    let start = Instant::now();
    let decision = evaluate(&rules, &creation(&pod));
    let took = start.elapsed();
    assert_eq!(steps(&decision).len(), 2);
    // 5 ms in a release build, about 100 ms in a debug build. A quadratic step would take thousands of times as long.
    assert!(took < Duration::from_secs(2), "{took:?}");
}
