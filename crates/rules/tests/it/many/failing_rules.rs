//! Rules that fail among many.

use vestibule_rules::RuleSet;

use super::{POD, behind_fillers, written};
use crate::growth::takes_less_than;
use crate::kit::{decide, made, pod, rule, rules, words};

/// Half of the rules fail. Four times as many rules take at most `most` times as long.
fn failing_rules_take_linear_time(most: u32, made: impl Fn(usize) -> (RuleSet, String)) {
    let evaluate = |count: usize| {
        let (rules, object) = made(count);
        move || assert_eq!(words(&decide(&rules, &object)), ["applied", "conflict"].repeat(count / 2))
    };
    takes_less_than(most, evaluate(250), evaluate(1_000));
}

/// The JSON of `count` containers of the pod, to follow others.
fn theirs(count: usize) -> String {
    let theirs = (1..count).step_by(2).map(|n| format!(r#",{{"name":"s{n}","image":"theirs"}}"#));
    theirs.collect()
}

/// Half of the rules find a container of the user with the name of theirs; the blocks of all others pass it over.
#[test]
fn rules_that_fail() {
    failing_rules_take_linear_time(7, |count| {
        let rules = written(count, |n| match n % 2 {
            0 => format!("containerPatches: [{{select: {{names: [app]}}, env: [{{name: E{n}, value: x}}]}}]"),
            _ => format!("sidecars: [{{name: s{n}, image: i, mode: regular}}]"),
        });
        let theirs = theirs(count);
        (rules, pod(&format!(r#"{{"containers":[{{"name":"app","image":"i"}}{theirs}]}}"#)))
    });
}

#[test]
fn sidecars_that_are_there_among_the_init_containers() {
    failing_rules_take_linear_time(9, |count| {
        let rules = written(count, |n| match n % 2 {
            0 => format!("pod: {{labels: {{l{n}: x}}}}"),
            _ => format!("sidecars: [{{name: s{n}, image: i, mode: regular}}]"),
        });
        let (app, theirs) = (r#"{"name":"app","image":"i"}"#, theirs(count));
        (rules, pod(&format!(r#"{{"containers":[{app}],"initContainers":[{app}{theirs}]}}"#)))
    });
}

/// Every second sidecar has the port of the one before it.
#[test]
fn sidecars_whose_ports_are_taken() {
    failing_rules_take_linear_time(14, |count| (beside_others(count), pod(POD)));
}

/// All sidecars have ports of one container of the pod, by number or by name.
#[test]
fn sidecars_whose_ports_one_container_has() {
    for name in ["q", "p"] {
        failing_rules_take_linear_time(9, |count| {
            let rules = written(count, |n| {
                let port = if n % 2 == 0 { 10_000 + n } else { 1_000 + n };
                let name = if n % 2 == 0 { "r" } else { name };
                format!(
                    "sidecars: [{{name: s{n}, image: i, mode: regular, ports: [{{name: {name}{n}, containerPort: {port}}}]}}]"
                )
            });
            let port = |n: usize| format!(r#"{{"name":"p{n}","containerPort":{}}}"#, 1_000 + n);
            let ports = (0..count).map(port).collect::<Vec<_>>().join(",");
            (rules, pod(&format!(r#"{{"containers":[{{"name":"app","image":"i","ports":[{ports}]}}]}}"#)))
        });
    }
}

/// Each rule adds its volume before it finds another mount at its path.
#[test]
fn mounts_that_are_taken() {
    failing_rules_take_linear_time(9, |count| {
        let rules = written(count, |n| {
            let place = if n % 2 == 0 { "free" } else { "m" };
            let mount = format!("{{name: v{n}, mountPath: /{place}{n}}}");
            format!(
                "volumes: [{{name: v{n}, emptyDir: {{}}}}]\ncontainerPatches: [{{select: {{all: true}}, volumeMounts: [{mount}]}}]"
            )
        });
        let mounts: Vec<_> = (0..count).map(|n| format!(r#"{{"name":"w","mountPath":"/m{n}"}}"#)).collect();
        let app = format!(r#"{{"name":"app","image":"i","volumeMounts":[{}]}}"#, mounts.join(","));
        (rules, pod(&format!(r#"{{"containers":[{app}]}}"#)))
    });
}

#[test]
fn ports_of_failing_rules_are_released_with_many_rules() {
    let decision = decide(&beside_others(20), &pod(POD));
    assert_eq!(words(&decision), ["applied", "conflict"].repeat(10));
    for (n, warning) in decision.warnings.iter().enumerate() {
        let (port, mine, theirs) = (8_000 + n, 2 * n + 1, 2 * n);
        let why = format!("port {port}/TCP of container `s{mine}` is taken by container `s{theirs}`");
        assert!(warning.ends_with(&why), "{warning}");
    }
}

/// A conflict is reported the same after a container has lost a port that the index has.
#[test]
fn port_conflicts_are_reported_the_same_with_many_rules() {
    let ports = |all: &str| format!("sidecars: [{{name: s{}, image: i, ports: [{all}]}}]", all.len());
    let specs = [
        ports("{containerPort: 90}"),
        "remove: [{ports: {containers: all, containerPort: 80}}]".to_owned(),
        ports("{name: z, containerPort: 81}"),
        ports("{name: y, containerPort: 80}"),
        ports("{name: free-one, containerPort: 80}"),
        ports("{name: other, hostPort: 70, containerPort: 77}, {name: x, containerPort: 82}"),
    ];
    let object = pod(r#"{"containers":[{"name":"app","image":"i","ports":[{"name":"x","containerPort":80},
        {"name":"y","containerPort":81},{"name":"z","containerPort":82}]}]}"#);
    let few = decide(&written(specs.len(), |n| specs[n].clone()), &object);
    let many = decide(&behind_fillers(&specs.each_ref().map(String::as_str)), &object);
    assert_eq!(words(&few), ["applied", "applied", "conflict", "conflict", "applied", "conflict"]);
    assert_eq!(words(&many)[8..], words(&few));
    let told = |warnings: &[String]| {
        let why = warnings.iter().filter_map(|warning| warning.split_once(": "));
        why.map(|(_, why)| why.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&many.warnings), told(&few.warnings));
}

fn beside_others(count: usize) -> RuleSet {
    written(count, |n| {
        let port = 8_000 + n / 2;
        format!("sidecars: [{{name: s{n}, image: i, ports: [{{containerPort: {port}}}]}}]")
    })
}

/// Every second rule mounts an absent volume. A rule that fails takes about as long as one that succeeds.
#[test]
fn sidecars_of_rules_that_fail() {
    let evaluate = |fails: bool| {
        let rules = written(1_000, |n| {
            let mount =
                if n % 2 == 1 && fails { ", volumeMounts: [{name: nobodys, mountPath: /m}]" } else { "" };
            format!("sidecars: [{{name: s{n}, image: i{mount}}}]")
        });
        let object = pod(POD);
        let wanted = ["applied", if fails { "error" } else { "applied" }].repeat(500);
        move || assert_eq!(words(&decide(&rules, &object)), wanted)
    };
    takes_less_than(9, evaluate(false), evaluate(true));
}

/// For any positions of their containers and any items in other containers.
#[test]
fn failing_rules_leave_no_trace_with_many_rules() {
    let spec = |n: usize| {
        let (mode, list) = [("native", "initContainers"), ("regular", "containers")][n / 2 % 2];
        let place = ["first", "last", "{before: app}", "{after: helper}"][n / 3 % 4];
        let mounts = if n % 3 == 1 { "[{name: nobodys, mountPath: /m}]" } else { "[]" };
        format!(
            "sidecars: [{{name: s{n}, image: i, mode: {mode}, position: {{{list}: {place}}}, volumeMounts: {mounts}}}]\n\
             containerPatches: [{{select: {{all: true}}, env: [{{name: E{n}, value: $(X)}}, {{name: F{n}, value: x}}]}}]"
        )
    };
    let some = |taken: fn(usize) -> bool| {
        let taken = (0..60).filter(|n| taken(*n));
        rules(&taken.map(|n| rule(&format!("r{n:04}"), &spec(n))).collect::<String>())
    };
    let object = pod(
        r#"{"containers":[{"name":"app","image":"i","env":[{"name":"X","value":"x"}]},{"name":"helper","image":"i"}]}"#,
    );
    let (all, good) = (decide(&some(|_| true), &object), decide(&some(|n| n % 3 != 1), &object));
    assert_eq!(words(&all), ["applied", "error", "applied"].repeat(20));
    assert_eq!(made(&all, &object), made(&good, &object));
}

/// The rule that removed the port is rolled back, so the sidecar with the port fails, and not the rule after it.
#[test]
fn a_port_is_in_use_again_when_the_rule_that_removed_it_fails() {
    let rules = behind_fillers(&[
        "remove: [{ports: {containers: all, containerPort: 80}}]\n\
         sidecars: [{name: fails, image: i, ports: [{containerPort: 81}], volumeMounts: [{name: nobodys, mountPath: /m}]}]",
        "volumes: [{name: v, emptyDir: {}}]\nsidecars: [{name: side, image: i, ports: [{containerPort: 80}]}]",
        "volumes: [{name: v, configMap: {name: c}}]",
    ]);
    let object = pod(r#"{"containers":[{"name":"app","image":"i","ports":[{"containerPort":80}]}]}"#);
    let decision = decide(&rules, &object);
    assert_eq!(words(&decision)[8..], ["error", "conflict", "applied"], "{:?}", decision.warnings);
}

/// The container that the rule changed has its port again, so the sidecar with the port fails.
#[test]
fn a_port_is_in_use_again_when_the_rule_that_changed_it_fails() {
    let changes = "{name: theirs, image: i, mode: regular, ports: [{containerPort: 80, hostPort: 91}]}";
    let fails = "{name: fails, image: i, mode: regular, ports: [{containerPort: 81}], volumeMounts: [{name: nobodys, mountPath: /m}]}";
    let rules = behind_fillers(&[
        &format!("onConflict: override\nsidecars: [{changes}, {fails}]"),
        "volumes: [{name: v, emptyDir: {}}]\nsidecars: [{name: side, image: i, ports: [{containerPort: 82, hostPort: 90}]}]",
        "volumes: [{name: v, configMap: {name: c}}]",
    ]);
    let theirs = r#"{"name":"theirs","image":"i","ports":[{"containerPort":80,"hostPort":90}]}"#;
    let decision =
        decide(&rules, &pod(&format!(r#"{{"containers":[{{"name":"app","image":"i"}},{theirs}]}}"#)));
    assert_eq!(words(&decision)[8..], ["error", "conflict", "applied"], "{:?}", decision.warnings);
}

/// The rule that removed the volume is rolled back, so a rule that mounts it succeeds.
#[test]
fn a_volume_is_there_again_when_the_rule_that_removed_it_fails() {
    let mount = |name: &str| {
        format!(
            "containerPatches: [{{select: {{all: true}}, volumeMounts: [{{name: {name}, mountPath: /{name}}}]}}]"
        )
    };
    let remove = |name: &str| format!("remove: [{{volumes: {{name: {name}}}}}]");
    let fails = format!("{}\n{}", remove("b"), mount("nobodys"));
    let object = pod(
        r#"{"containers":[{"name":"app","image":"i"}],"volumes":[{"name":"a","emptyDir":{}},{"name":"b","emptyDir":{}},
        {"name":"c","emptyDir":{}}]}"#,
    );
    let decision = decide(&behind_fillers(&[&remove("a"), &fails, &mount("b")]), &object);
    assert_eq!(words(&decision)[8..], ["applied", "error", "applied"], "{:?}", decision.warnings);
}

/// If the pod has a name twice, the last container counts, in lookups by index too.
#[test]
fn the_last_of_two_containers_with_one_name_counts_with_many_rules() {
    let spec = "onConflict: skipRule\nsidecars: [{name: s, image: i, mode: regular}]";
    let (ours, other) = (r#"{"name":"s","image":"i"}"#, r#"{"name":"s","image":"other"}"#);
    for (first, last, expected) in [(other, ours, "unchanged"), (ours, other, "conflict")] {
        let object = pod(&format!(r#"{{"containers":[{{"name":"app","image":"i"}},{first},{last}]}}"#));
        for rules in [written(1, |_| spec.to_owned()), behind_fillers(&[spec])] {
            assert_eq!(words(&decide(&rules, &object)).last(), Some(&expected));
        }
    }
}
