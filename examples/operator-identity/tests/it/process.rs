//! The operator as a process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A kubeconfig for an address without a server.
const UNREACHABLE: &str = "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, \
                       user: a, namespace: demo}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], \
                       users: [{name: a, user: {}}]}";

#[test]
fn a_signal_ends_the_operator_without_an_api_server() {
    let kubeconfig = std::env::temp_dir().join(format!("operator-identity-{}", std::process::id()));
    std::fs::write(&kubeconfig, UNREACHABLE).unwrap();
    let mut operator = Command::new(env!("CARGO_BIN_EXE_operator-identity"))
        .args(["run", "--identity", "off"])
        .env("KUBECONFIG", &kubeconfig)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(operator.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(log.any(|line| line.contains("it will be tried again")));
    let id = operator.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(log.any(|line| line.contains("ended by a signal")));
    assert!(operator.wait().unwrap().success());
    std::fs::remove_file(kubeconfig).unwrap();
}
