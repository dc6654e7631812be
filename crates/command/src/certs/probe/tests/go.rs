//! Go's own TLS client, asked about the same servers.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use k8s_openapi::ByteString;
use serde_json::json;

use super::{Case, Server};

/// Go's error for each case's server; empty where it accepts the server. Without Go the test is listed as skipped.
pub(super) fn ask_or_skip(cases: &[(Case, Server)], now: u64) -> Option<Vec<String>> {
    if let Err(error) = Command::new("go").arg("version").stdout(Stdio::null()).status() {
        assert!(std::env::var_os("VESTIBULE_REQUIRE_APISERVER").is_none(), "no Go: {error}");
        vestibule_testenv::leave_out(&format!("there is no `go` in PATH: {error}"));
        return None;
    }
    let target = tempfile::tempdir().unwrap();
    let program = target.path().join("probe-client");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/certs/probe/tests/client");
    let built = Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(folder).status();
    assert!(built.unwrap().success(), "the Go client does not build");
    let questions: Vec<_> = cases
        .iter()
        .map(|(case, server)| {
            let bundle = ByteString(case.bundle.clone().into_bytes());
            json!({ "address": server.address(), "bundle": bundle, "serverName": case.name, "now": now })
        })
        .collect();
    let mut child =
        Command::new(program).env("TZ", "UTC").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(json!(questions).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
