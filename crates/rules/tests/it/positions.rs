//! The positions of containers over all rules, and their restoration after other webhooks.

use cpu_time::ThreadTime;

use crate::kit::{decide, load, names, pod, result, rule, rules, steps, word};

fn sidecar(name: &str, position: &str) -> String {
    rule(
        &format!("rule-{name}"),
        &format!(
            "sidecars: [{{name: {name}, image: i, position: {{initContainers: {position}, strict: true}}}}]"
        ),
    )
}

fn init(containers: &[&str]) -> String {
    let one = |name: &&str| match *name {
        "a" | "b" | "c" => format!(r#"{{"name":"{name}","image":"i","restartPolicy":"Always"}}"#),
        _ => format!(r#"{{"name":"{name}"}}"#),
    };
    let all: Vec<String> = containers.iter().map(one).collect();
    pod(&format!(r#"{{"initContainers":[{}]}}"#, all.join(",")))
}

#[test]
fn a_strict_container_goes_back_by_one_move() {
    for (position, between, moved) in [
        ("first", ["x", "a", "y"], "move /spec/initContainers/0"),
        ("last", ["x", "a", "y"], "move /spec/initContainers/2"),
        ("{before: x}", ["x", "y", "a"], "move /spec/initContainers/0"),
        ("{after: y}", ["a", "x", "y"], "move /spec/initContainers/2"),
    ] {
        let decision = decide(&rules(&sidecar("a", position)), &init(&between));
        assert_eq!(steps(&decision), [moved], "{position}");
        assert_eq!((word(&decision), decision.warnings.len()), ("applied", 0));
        let origin = &decision.changes()[0].origin;
        assert_eq!((&*origin.rule, &*origin.clause), ("rule-a", "sidecars[0].position"));
        result(&rules(&sidecar("a", position)), &init(&between));
    }
    for fine in [["a", "x", "y"], ["b", "a", "x"]] {
        let both = rules(&(sidecar("a", "first") + &sidecar("b", "first")));
        assert_eq!(steps(&decide(&both, &init(&fine))).len(), usize::from(fine[0] == "a"));
    }
}

#[test]
fn only_injected_containers_are_moved() {
    let kept = pod(r#"{"initContainers":[{"name":"x"},{"name":"a","image":"theirs"}]}"#);
    let text = sidecar("a", "first").replace("image: i", "image: i, onConflict: keep");
    assert!(steps(&decide(&rules(&text), &kept)).is_empty());
    let told = sidecar("a", "first").replace("true", "false");
    let decision = decide(&rules(&told), &init(&["x", "a"]));
    assert_eq!((steps(&decision).len(), decision.warnings.len()), (0, 1));
}

#[test]
fn positions_relative_to_other_rules_hold_in_any_order() {
    let chain = [("a", "{before: b}"), ("b", "{before: c}"), ("c", "first")];
    let back = [("a", "{after: b}"), ("b", "{after: c}"), ("c", "last")];
    for (positions, fresh) in [(chain, ["a", "b", "c", "x"]), (back, ["x", "c", "b", "a"])] {
        let all: String = positions.iter().map(|(name, position)| sidecar(name, position)).collect();
        for text in [all.clone(), all.replace("strict: true", "strict: false")] {
            let rules = rules(&text);
            let made = result(&rules, &init(&["x"]));
            assert_eq!(names(&made["spec"]["initContainers"]), fresh);
            assert!(decide(&rules, &init(&["x"])).warnings.is_empty());
            // One rule is added later than the others.
            for missing in 0..4 {
                let there: Vec<&str> = fresh
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != missing)
                    .map(|(_, name)| *name)
                    .collect();
                let made = result(&rules, &init(&there));
                if fresh[missing] != "x" {
                    assert_eq!(names(&made["spec"]["initContainers"]), fresh, "without {}", fresh[missing]);
                }
            }
        }
        let rules = rules(&all);
        let mixed = result(&rules, &init(&["x", "c", "y", "a", "b"]));
        let mut wanted: Vec<&str> = fresh.iter().copied().filter(|name| *name != "x").collect();
        let place = if fresh[0] == "x" { 0 } else { wanted.len() };
        wanted.splice(place..place, ["x", "y"]);
        assert_eq!(names(&mixed["spec"]["initContainers"]), wanted);
    }
}

#[test]
fn circular_positions_are_refused() {
    let text = sidecar("a", "{before: b}") + &sidecar("b", "{before: c}") + &sidecar("c", "{before: a}");
    let findings = load(&text).err().unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].headline(),
        "rules.yaml:7:44: error[VST0154]: no order of containers satisfies: `a` before `b` (rule `rule-a`, rules.yaml:7) and \
         `b` before `c` (rule `rule-b`, rules.yaml:14) and `c` before `a` (rule `rule-c`, rules.yaml:21)"
    );
    for circle in [
        sidecar("a", "{before: a}"),
        sidecar("a", "{before: b}") + &sidecar("b", "{before: a}"),
        sidecar("a", "{after: b}") + &sidecar("b", "{after: a}"),
        sidecar("a", "{before: b}") + &sidecar("b", "{before: a}") + &sidecar("c", "{after: b}"),
    ] {
        assert_eq!(load(&circle).err().unwrap().len(), 1, "{circle}");
    }
    // The two lists have independent orders.
    let other = sidecar("b", "{before: a}")
        .replace("initContainers:", "containers:")
        .replace("image: i", "image: i, mode: regular");
    assert!(load(&(sidecar("a", "{before: b}") + &other)).is_ok());
    assert!(
        load(&(sidecar("a", "{before: b}") + &sidecar("b", "{after: a}") + &sidecar("c", "{before: b}")))
            .is_ok()
    );
}

#[test]
fn a_long_chain_of_relative_positions_takes_linear_time() {
    let chain: String = (0..300)
        .map(|n| {
            format!(
                "  - {{name: a{n}, image: i, position: {{initContainers: {{after: a{}}}, strict: true}}}}\n",
                n + 1
            )
        })
        .collect();
    let work = ThreadTime::now();
    let rules = rules(&rule("r", &format!("sidecars:\n{chain}")));
    assert_eq!(word(&decide(&rules, &init(&["a"]))), "applied");
    assert!(work.elapsed() < std::time::Duration::from_secs(20), "{:?}", work.elapsed());
}
