//! Many rules for one object: the time grows linearly with their number.

mod failing_rules;
mod one_rule;
mod ports;
mod removals;

use vestibule_rules::RuleSet;

use crate::growth::takes_less_than;
use crate::kit::{creation, decide, names, pod, result, rule, rules, words};

const POD: &str = r#"{"containers":[{"name":"app","image":"i","env":[{"name":"X","value":"x"}]}]}"#;

fn written(count: usize, spec: impl Fn(usize) -> String) -> RuleSet {
    rules(&(0..count).map(|index| rule(&format!("r{index:04}"), &spec(index))).collect::<String>())
}

/// Evaluates `count` rules for the object; all are applied.
fn apply(count: usize, object: String, spec: fn(usize) -> String) -> impl Fn() {
    let rules = written(count, spec);
    move || {
        let decision = decide(&rules, &object);
        assert!(words(&decision).iter().all(|word| *word == "applied"), "{:?}", decision.warnings);
    }
}

/// Four times as many rules take about four times as long, and at most `most` times. If each rule looked at the changes of the
/// others, they would take sixteen times as long.
fn takes_linear_time(most: u32, spec: fn(usize) -> String) {
    takes_less_than(most, apply(250, pod(POD), spec), apply(1_000, pod(POD), spec));
}

#[test]
fn expressions_that_read_the_object() {
    takes_linear_time(8, |n| {
        format!(
            "matchConditions: [{{name: c0, expression: has(object.metadata.labels.app)}}]\npod: {{labels: {{l{n}: x}}, annotations: {{a{n}: x}}}}"
        )
    });
}

#[test]
fn items_without_keys() {
    takes_linear_time(8, |n| {
        let toleration = format!("[{{key: k{n}, operator: Exists, effect: NoSchedule}}]");
        let env_from = format!(
            "[{{configMapRef: {{name: c{n}}}}}, {{prefix: P{n}, secretRef: {{name: s, optional: true}}}}]"
        );
        format!(
            "pod: {{spec: {{tolerations: {toleration}}}}}\n\
             containerPatches: [{{select: {{all: true}}, envFrom: {env_from}}}]"
        )
    });
}

#[test]
fn sidecars() {
    // Each rule goes through the names of all containers, and looks at nothing else.
    takes_linear_time(12, |n| {
        let mode = if n % 2 == 0 { "native" } else { "regular" };
        format!(
            "sidecars: [{{name: s{n}, image: i, mode: {mode}}}]\ninitContainers: [{{name: i{n}, image: i}}]"
        )
    });
}

#[test]
fn sidecars_beside_those_of_other_rules() {
    takes_linear_time(12, |n| {
        let position = format!("{{initContainers: {{after: s{n}}}}}");
        format!("sidecars: [{{name: s{}, image: i, position: {position}}}]", n + 1)
    });
}

#[test]
fn ports_of_sidecars() {
    takes_linear_time(12, |n| {
        let (port, name) = (10_000 + n, format!("p{n}"));
        format!("sidecars: [{{name: s{n}, image: i, ports: [{{name: {name}, containerPort: {port}}}]}}]")
    });
}

/// Blocks for every container of the pod.
#[test]
fn containers_of_the_pod() {
    let rules = written(24, |n| {
        let mount = format!("{{name: v, mountPath: /m{n}}}");
        format!(
            "containerPatches: [{{select: {{all: true}}, env: [{{name: E{n}, value: x}}], volumeMounts: [{mount}]}}]"
        )
    });
    let evaluate = |count: usize| {
        let all: Vec<_> =
            (0..count).map(|n| format!(r#"{{"name":"c{n}","env":[{{"name":"X","value":"x"}}]}}"#)).collect();
        let volumes = r#"[{"name":"v","emptyDir":{}}]"#;
        let object = pod(&format!(r#"{{"containers":[{}],"volumes":{volumes}}}"#, all.join(",")));
        let rules = &rules;
        move || assert!(decide(rules, &object).changes().len() > 47 * count)
    };
    takes_less_than(7, evaluate(200), evaluate(800));
}

#[test]
fn blocks_beside_containers_of_rules() {
    takes_linear_time(12, beside_a_container);
}

fn beside_a_container(n: usize) -> String {
    let block = format!("{{select: {{all: true}}, env: [{{name: E{n}, value: x}}]}}");
    format!("sidecars: [{{name: s{n}, image: i, mode: regular}}]\ncontainerPatches: [{block}]")
}

#[test]
fn blocks_do_not_select_injected_containers_with_many_rules() {
    let rules = written(20, |n| {
        let place = if n % 2 == 0 { "first" } else { "last" };
        format!(
            "sidecars: [{{name: s{n:02}, image: i, mode: regular, position: {{containers: {place}}}}}]\n\
             containerPatches: [{{select: {{all: true}}, env: [{{name: E{n:02}, value: x}}]}}]"
        )
    });
    let made =
        result(&rules, &pod(r#"{"containers":[{"name":"app","image":"i"},{"name":"helper","image":"i"}]}"#));
    for container in made["spec"]["containers"].as_array().unwrap() {
        let variables = container["env"].as_array().map_or(0, Vec::len);
        let is_brought = container["name"].as_str().unwrap().starts_with('s');
        assert_eq!(variables, if is_brought { 0 } else { 20 }, "{container}");
    }
}

/// Rules after eight others, so that they use indexes.
fn behind_fillers(specs: &[&str]) -> RuleSet {
    written(8 + specs.len(), |n| {
        n.checked_sub(8).map_or_else(|| format!("pod: {{labels: {{l{n}: x}}}}"), |n| specs[n].to_owned())
    })
}

#[test]
fn ports_of_the_pod_conflict_with_many_rules() {
    let object = pod(
        r#"{"containers":[{"name":"app","image":"i","ports":[{"containerPort":80},{"containerPort":81,"hostPort":91},
        {"containerPort":53,"protocol":"UDP","name":"dns"}]}],"initContainers":[
        {"name":"ends","image":"i","ports":[{"containerPort":84}]},
        {"name":"native","image":"i","restartPolicy":"Always","ports":[{"containerPort":85}]}]}"#,
    );
    for (port, word) in [
        ("containerPort: 80", "conflict"),
        ("containerPort: 80, protocol: TCP", "conflict"),
        ("containerPort: 80, protocol: UDP", "applied"),
        ("containerPort: 53", "applied"),
        ("containerPort: 53, protocol: UDP", "conflict"),
        ("containerPort: 54, name: dns", "conflict"),
        ("containerPort: 90, hostPort: 91", "conflict"),
        ("containerPort: 90, hostPort: 81", "applied"),
        ("containerPort: 84", "applied"),
        ("containerPort: 85", "conflict"),
    ] {
        let spec = format!("sidecars: [{{name: side, image: i, ports: [{{{port}}}]}}]");
        assert_eq!(words(&decide(&written(1, |_| spec.clone()), &object)), [word], "{port}");
        let behind = words(&decide(&behind_fillers(&[&spec]), &object));
        assert_eq!(behind.last(), Some(&word), "{port}");
    }
}

#[test]
fn containers_are_found_by_name_with_many_rules() {
    let spec = "containerPatches: [{select: {names: [b, none, app, b, s], init: true}, env: [{name: E, value: x}]}]\n\
                sidecars: [{name: s, image: i, mode: regular, position: {containers: first}}]";
    let object = pod(
        r#"{"containers":[{"name":"app","image":"i"},{"name":"a","image":"i"}],"initContainers":[{"name":"b","image":"i"}]}"#,
    );
    for rules in [written(1, |_| spec.to_owned()), behind_fillers(&[spec])] {
        let made = result(&rules, &object);
        let given = |list: &str| {
            let all = made["spec"][list].as_array().unwrap().iter();
            let given = all.filter(|one| one.get("env").is_some()).map(|one| one["name"].as_str().unwrap());
            given.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!((given("containers"), given("initContainers")), (vec!["app".into()], vec!["b".into()]));
    }
}

/// Explains `count` rules for a pod.
fn explain(count: usize, spec: fn(usize) -> String) -> impl Fn() {
    let (rules, object) = (written(count, spec), pod(POD));
    move || assert_eq!(rules.explain(&creation(&object)).unwrap().rules.len(), count)
}

#[test]
fn explanations() {
    let spec = |n| {
        let block = format!("{{select: {{all: true}}, env: [{{name: E{n}, value: x}}]}}");
        format!("volumes: [{{name: v{n}, emptyDir: {{}}}}]\ncontainerPatches: [{block}]")
    };
    takes_less_than(8, explain(250, spec), explain(1_000, spec));
}

#[test]
fn explanations_of_blocks_beside_containers_of_rules() {
    takes_less_than(9, explain(250, beside_a_container), explain(1_000, beside_a_container));
}

#[test]
fn hints() {
    let lint = |count| {
        let rules = written(count, |n| format!("sidecars: [{{name: s{n}, image: s}}]"));
        move || assert!(rules.lint().len() >= count)
    };
    takes_less_than(8, lint(250), lint(1_000));
}

fn referring(n: usize) -> String {
    let before = n.checked_sub(1).map_or_else(|| "X".to_owned(), |before| format!("E{before}"));
    let env = format!("[{{name: E{n}, value: $({before})}}, {{name: F{n}, value: $(X)}}]");
    format!("containerPatches: [{{select: {{all: true}}, env: {env}}}]")
}

#[test]
fn variables_that_refer_to_others() {
    takes_linear_time(8, referring);
}

#[test]
fn variables_go_after_their_references_with_many_rules() {
    let made = result(&written(20, referring), &pod(POD));
    let variables = names(&made["spec"]["containers"][0]["env"]);
    let place = |name: &str| variables.iter().position(|one| *one == name).unwrap();
    assert_eq!((variables.len(), place("X")), (41, 0));
    assert!((1..20).all(|n| place(&format!("E{}", n - 1)) < place(&format!("E{n}"))), "{variables:?}");
}

/// Every second rule adds the item of the rule before it, or that toleration without its seconds.
#[test]
fn items_without_merge_keys_are_added_once_with_many_rules() {
    let rules = written(20, |n| {
        let seconds = if n % 8 == 0 { ", tolerationSeconds: 30" } else { "" };
        format!(
            "pod: {{spec: {{tolerations: [{{key: k{}, operator: Exists, effect: NoExecute{seconds}}}]}}}}",
            n / 2
        )
    });
    let made = result(&rules, &pod(POD));
    let tolerations = made["spec"]["tolerations"].as_array().unwrap();
    let keys: Vec<_> = tolerations.iter().map(|one| one["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"]);
    let status = made["metadata"]["annotations"]["vestibule.dev/injected"].as_str().unwrap();
    assert!(status.contains("spec:tolerations/k9"), "{status}");
}

#[test]
fn tolerations_are_overridden_in_their_places_with_many_rules() {
    let item = |n: usize, seconds: usize| {
        format!(r#"{{"key":"k{n}","operator":"Exists","effect":"NoExecute","tolerationSeconds":{seconds}}}"#)
    };
    let there = (0..20).map(|n| item(n, 300)).collect::<Vec<_>>().join(",");
    let object = pod(&format!(r#"{{"containers":[{{"name":"app","image":"i"}}],"tolerations":[{there}]}}"#));
    let rules = written(20, |n| {
        format!("onConflict: override\npod: {{spec: {{tolerations: [{}]}}}}", item(n / 2, n))
    });
    let made = result(&rules, &object);
    let tolerations = made["spec"]["tolerations"].as_array().unwrap();
    let seconds: Vec<_> = tolerations.iter().map(|one| one["tolerationSeconds"].as_u64().unwrap()).collect();
    let expected: Vec<_> = (0..20).map(|n| if n < 10 { 2 * n + 1 } else { 300 }).collect();
    assert_eq!(seconds, expected);
}

/// A new first container goes after those that are first already, up to a container with another position.
#[test]
fn positions_are_the_same_with_many_rules() {
    let spec = |n: usize| match n % 5 {
        0 => format!("initContainers: [{{name: c{n:02}, image: i}}]"),
        3 => format!(
            "sidecars: [{{name: c{n:02}, image: i, position: {{initContainers: {{before: c{:02}}}}}}}]",
            n - 1
        ),
        _ => format!("sidecars: [{{name: c{n:02}, image: i}}]"),
    };
    let made = result(&written(30, spec), &pod(POD));
    let all = names(&made["spec"]["initContainers"]);
    let is_first = |name: &&String| !["0", "5", "3", "8"].iter().any(|end| name.ends_with(end));
    let mut wanted: Vec<String> = Vec::new();
    for n in 0..30 {
        let place = match n % 5 {
            0 => wanted.len(),
            3 => wanted.iter().position(|one| *one == format!("c{:02}", n - 1)).unwrap(),
            _ => wanted.iter().take_while(is_first).count(),
        };
        wanted.insert(place, format!("c{n:02}"));
    }
    assert_eq!(all, wanted);
}
