//! The order in which every command looks for its cluster.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::fixture::{Folder, TARGET};

/// Every command that uses a cluster, with its other flags.
const COMMANDS: &[&str] = &[
    "explain pod/web -n shop",
    "drift",
    "certs show --service shop/hook",
    "certs rotate --yes --service shop/hook",
    "loglevel -n shop",
    "serve -n shop --identity local:identity --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0",
    "serve --rules asking.yaml --identity local:identity --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0",
    "serve --rules rules.yaml --namespace-labels a=b --identity self --service shop/hook --registration-mode static --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0",
];

const AT_A_TERMINAL: [&str; 6] = [
    "drift",
    "explain pod/web",
    "certs show --service shop/hook",
    "loglevel -n shop",
    "install",
    "uninstall",
];

/// A server that records calls, and its kubeconfig at `path`.
fn cluster(path: &Path, name: &'static str, called: &mpsc::Sender<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, kubeconfig(address)).unwrap();
    let called = called.clone();
    std::thread::spawn(move || {
        while let Ok(connection) = listener.accept() {
            drop(connection);
            if called.send(name).is_err() {
                return;
            }
        }
    });
}

fn kubeconfig(address: SocketAddr) -> String {
    format!(
        "{{current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}], users: [{{name: a, user: {{token: t}}}}], clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]}}"
    )
}

#[test]
fn every_command_finds_its_cluster_in_one_order() {
    let asking = TARGET.replace("match: {", "match: {namespaceSelector: {matchLabels: {team: blue}}, ");
    for command in COMMANDS {
        for (given, expected) in [("flag variable", "flag"), ("variable", "variable"), ("", "home")] {
            let folder = Folder::with(&[("rules.yaml", TARGET), ("asking.yaml", &asking)]);
            let (send, called) = mpsc::channel();
            for (name, path) in [("flag", "flag"), ("variable", "variable"), ("home", ".kube/config")] {
                cluster(&folder.path().join(path), name, &send);
            }
            let mut typed = folder.command(command);
            if given.contains("flag") {
                typed.args(["--kubeconfig", "flag"]);
            }
            if given.contains("variable") {
                typed.env("KUBECONFIG", folder.path().join("variable"));
            }
            let child = typed.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut child = child.unwrap();
            let first = called.recv_timeout(Duration::from_secs(60));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(first, Ok(expected), "{command}, where there is `{given}`");
            assert!(called.try_iter().all(|name| name == expected), "{command}, where there is `{given}`");
        }
    }
}

/// The reason is what people search for.
#[test]
fn a_cluster_that_refuses_the_connection_is_named_with_the_reason() {
    let folder = Folder::with(&[]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    folder.write("closed", kubeconfig(closed));
    for command in AT_A_TERMINAL {
        let done = folder.run(&format!("{command} --kubeconfig closed"));
        let advice =
            format!("does `kubectl version` reach http://{closed}/? --kubeconfig and --context name");
        done.fails(3, "Connection refused").tells(advice);
    }
}

/// `install` listed every object as `Unauthorized`, and `drift` and `loglevel` said no more than that word.
#[test]
fn credentials_that_have_expired_are_named() {
    let folder = Folder::with(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    folder.write("expired", kubeconfig(listener.local_addr().unwrap()));
    std::thread::spawn(move || {
        let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "Unauthorized", "code": 401}"#;
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _count = connection.read(&mut [0; 4096]);
            let head = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length";
            let _closed = write!(connection, "{head}: {}\r\n\r\n{status}", status.len());
        }
    });
    for command in AT_A_TERMINAL {
        folder.run(&format!("{command} --kubeconfig expired")).fails(2, "they have expired");
    }
}

/// `drift` and `explain` had no `--context`.
#[test]
fn every_command_at_a_terminal_takes_a_context() {
    let folder = Folder::with(&[]);
    folder.write("config", kubeconfig(SocketAddr::from(([127, 0, 0, 1], 9))));
    for command in AT_A_TERMINAL {
        let done = folder.run(&format!("{command} --kubeconfig config --context absent"));
        done.fails(2, "`kubectl config get-contexts` lists those there are");
    }
}

/// The help of every command with the flag names the order.
#[test]
fn every_kubeconfig_flag_says_the_same() {
    let folder = Folder::with(&[]);
    for command in
        ["explain", "drift", "serve", "manifests", "certs show", "certs rotate", "certs revoke", "loglevel"]
    {
        let help = folder.run(&format!("{command} --help")).stdout();
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "--kubeconfig <FILE> The kubeconfig of the cluster to connect to [default: KUBECONFIG, else the cluster \
                    around this pod, else ~/.kube/config]";
        assert!(words.contains(said), "{command}: {words}");
    }
}
