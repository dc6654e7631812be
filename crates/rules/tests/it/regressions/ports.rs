//! Ports that do not conflict with those of other containers.

use crate::kit::{decide, pod, rule, rules, word, words};

/// The result for a sidecar with the first port in a pod with the second.
fn with_ports(ours: &str, theirs: &str) -> &'static str {
    let rules = rules(&rule("r", &format!("sidecars: [{{name: s, image: i, ports: [{ours}]}}]")));
    word(&decide(&rules, &pod(&format!(r#"{{"containers":[{{"name":"app","ports":[{theirs}]}}]}}"#))))
}

#[test]
fn ports_of_the_node_at_different_addresses_do_not_conflict() {
    let ours = "{containerPort: 81, hostPort: 8080, hostIP: 127.0.0.1}";
    for (address, expected) in [
        (r#""hostIP":"10.0.0.1""#, "applied"),
        (r#""hostIP":"127.0.0.1""#, "conflict"),
        (r#""hostIP":"0.0.0.0""#, "conflict"),
        (r#""name":"web""#, "conflict"),
        (r#""hostIP":"127.0.0.1","protocol":"UDP""#, "applied"),
    ] {
        let theirs = format!(r#"{{"containerPort":80,"hostPort":8080,{address}}}"#);
        assert_eq!(with_ports(ours, &theirs), expected, "{address}");
    }
    // Zero is no port of the node.
    let (ours, theirs) = ("{containerPort: 81, hostPort: 0}", r#"{"containerPort":80,"hostPort":0}"#);
    assert_eq!(with_ports(ours, theirs), "applied");
}

#[test]
fn an_init_container_that_ends_has_the_ports_of_later_containers() {
    let init = rules(&rule("r", "initContainers: [{name: s, image: i, ports: [{containerPort: 80}]}]"));
    let with = |spec: &str| word(&decide(&init, &pod(spec)));
    let port = r#""ports":[{"containerPort":80}]"#;
    assert_eq!(with(&format!(r#"{{"containers":[{{"name":"app",{port}}}]}}"#)), "applied");
    let native = format!(r#"{{"initContainers":[{{"name":"n","restartPolicy":"Always",{port}}}]}}"#);
    assert_eq!(with(&native), "conflict");
}

/// The last port of the number was taken for the only one.
#[test]
fn of_two_ports_of_one_number_the_equal_one_is_found() {
    let object = pod(
        r#"{"containers":[{"name":"app","ports":[{"containerPort":80,"name":"http"},{"containerPort":80,"name":"metrics"}]}]}"#,
    );
    let lines = "containerPatches: [{select: {all: true}, ports: [{containerPort: 80, name: NAME, onConflict: deny}]}]";
    for (name, expected) in [("http", "unchanged"), ("metrics", "unchanged"), ("web", "denied")] {
        // With many rules, the lists of the pod have indexes.
        for count in [1, 20] {
            let rule = |n| rule(&format!("r{n}"), &lines.replace("NAME", name));
            let rules = rules(&(0..count).map(rule).collect::<String>());
            assert_eq!(words(&decide(&rules, &object))[0], expected, "{name} {count}");
        }
    }
}
