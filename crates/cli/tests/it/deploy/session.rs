//! The recorded terminal session of the README: from nothing to the first pod with a sidecar.
//!
//! The commands run on a real API server. `docs/session.svg` has them and their output; `cargo xtask session`, which sets
//! `VESTIBULE_UPDATE_GOLDEN=1`, writes it again.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use vestibule_testenv::Options;

use super::NAMESPACE;
use super::fixture::{Cluster, serve, with_vestibule};
use crate::fixture::{Folder, finish, with_kubectl};
use crate::how_to::ROOT;

const PICTURE: &str = "docs/session.svg";

const RULE: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: ticker}
spec:
  match: {objectSelector: {matchLabels: {run: web}}}
  sidecars:
  - name: ticker
    image: busybox:1.37
    command: [sh, -c, 'while date; do sleep 1; done']
    startupProbe: {exec: {command: ['true']}}
    resources: {requests: {cpu: 10m, memory: 16Mi}}
";

const INSTALL: &str = "vestibule install";
/// The commands before and after the installation.
const BEFORE: [&str; 1] = ["cat rule.yaml"];
const AFTER: [&str; 4] = [
    "kubectl apply -f rule.yaml",
    "kubectl wait --for=condition=InForce injection/ticker",
    "kubectl run web --image=nginx:1.29",
    "kubectl get pod web -o jsonpath='{.spec.initContainers[*].name} {.spec.containers[*].name}{\"\\n\"}'",
];
/// `install` says when its view changes; which views it sees depends on the machine.
const TIMED: &str = "waiting  ";

#[tokio::test]
async fn the_recorded_session_is_what_the_commands_print() {
    // Pods need no ServiceAccount, which no controller makes here.
    let options =
        Options::default().controller_manager().api_server_flag("--disable-admission-plugins=ServiceAccount");
    let Some(cluster) = Cluster::start_with(&options).await else { return };
    let service = cluster.service().await;

    let folder = Folder::with(&[("rule.yaml", RULE)]);
    let shell = |typed: &str| {
        let script = with_vestibule(&format!("exec 2>&1\n{typed}"));
        let mut shell = with_kubectl(&cluster.environment, &cluster.tools, &script);
        shell.current_dir(folder.path());
        shell
    };
    let record = |session: &mut String, typed: &str, printed: &str| {
        writeln!(session, "$ {typed}").unwrap();
        let lines = printed.lines().filter(|line| !line.starts_with(TIMED));
        lines.for_each(|line| writeln!(session, "{line}").unwrap());
    };

    let mut session = String::new();
    for typed in BEFORE {
        record(&mut session, typed, &finish(&mut shell(typed), "").stdout());
    }
    let mut install = shell(INSTALL);
    let installing = tokio::task::spawn_blocking(move || finish(&mut install, ""));
    // The pod of the Deployment, as a kubelet would start it.
    let made = format!("kubectl wait --for=create --timeout=60s -n {NAMESPACE} deployment/injector");
    let mut wait = shell(&made);
    tokio::task::spawn_blocking(move || finish(&mut wait, "")).await.unwrap().exits(0);
    let server = serve(&cluster, &service).await;
    let done = installing.await.unwrap();
    assert_eq!(done.code(), 0, "{}{}", done.out, server.log());
    record(&mut session, INSTALL, &done.out);
    for typed in AFTER {
        let done = finish(&mut shell(typed), "");
        assert_eq!(done.code(), 0, "{typed}: {}{}", done.out, server.log());
        record(&mut session, typed, &done.out);
    }

    assert!(session.ends_with("\nticker web\n"), "{session}");
    let (path, picture) = (Path::new(ROOT).join(PICTURE), picture(&session));
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        fs::write(path, picture).unwrap();
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == picture,
        "{PICTURE} is not what the commands print; `cargo xtask session` writes it:\n{session}"
    );
}

/// The session as a picture of a terminal, in a font of equal widths.
fn picture(session: &str) -> String {
    const LINE: usize = 18;
    let columns = session.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let (width, height) = (32 + columns * 39 / 5, 32 + session.lines().count() * LINE);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         aria-label=\"A terminal: vestibule install, kubectl apply, and a pod with a sidecar\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#1e1e1e\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" fill=\"#d4d4d4\" \
         xml:space=\"preserve\">\n"
    );
    for (at, line) in session.lines().enumerate() {
        let is_typed = if line.starts_with("$ ") { " fill=\"#8fd460\" font-weight=\"bold\"" } else { "" };
        let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(text, "<text x=\"16\" y=\"{}\"{is_typed}>{escaped}</text>", 30 + at * LINE).unwrap();
    }
    text + "</g>\n</svg>\n"
}

/// The README shows the two commands.
#[test]
fn the_readme_shows_the_recorded_session() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    assert!(readme.contains(&format!("]({PICTURE})")));
}
