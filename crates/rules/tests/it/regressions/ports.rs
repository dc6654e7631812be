//! Ports that do not conflict with those of other containers.

use crate::kit::{decide, pod, rule, rules, word};

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
