//! Builds and runs the Go program with Go's TLS client.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::Cell;

/// The built Go program.
pub(crate) struct Client(PathBuf);

/// Builds the program. Without Go, the test is skipped and says so.
pub(crate) fn client_or_skip() -> Option<Client> {
    let name = std::thread::current().name().unwrap_or("main").to_owned();
    if let Err(error) = Command::new("go").arg("version").stdout(Stdio::null()).status() {
        let reason = format!("no Go: {error}");
        assert!(std::env::var_os("VESTIBULE_REQUIRE_APISERVER").is_none(), "{reason}");
        // A direct write to stderr is not captured by the test harness.
        let _ = writeln!(std::io::stderr(), "fire: skipped: {name}: {reason}");
        report(&format!("skipped {name} {reason}\n"));
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trust");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("trust");
    let built = Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(folder).status();
    assert!(built.unwrap().success(), "the Go client does not build");
    report(&format!("ran {name}\n"));
    Some(Client(program))
}

impl Client {
    /// The error for each cell; empty if the server is accepted.
    pub(crate) fn ask(&self, cells: &[Cell<'_>]) -> Vec<String> {
        let bytes = |bytes: &[u8]| json!(k8s_openapi::ByteString(bytes.to_vec()));
        let questions: Vec<_> = cells
            .iter()
            .map(|cell| {
                let chain: Vec<_> = cell.served.chain.iter().map(|one| bytes(one)).collect();
                json!({
                    "bundle": bytes(cell.bundle.as_bytes()), "chain": chain, "key": bytes(&cell.served.key),
                    "serverName": cell.name, "now": cell.at,
                })
            })
            .collect();
        let mut child = Command::new(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(json!(questions).to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Reports a run or skipped test in testenv's format.
fn report(line: &str) {
    let Some(path) = std::env::var_os("VESTIBULE_TEST_REPORT") else { return };
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}
