//! Building the control plane from its Go module.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Error;
use crate::report::say;

/// The programs that one build gives: one binary that acts as what it is called.
pub(super) const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

/// The Go module, carried along so that it is there wherever this crate is a dependency.
pub(super) const SOURCES: [(&str, &str); 3] = [
    ("go.mod", include_str!("../../controlplane/go.mod")),
    ("go.sum", include_str!("../../controlplane/go.sum")),
    ("main.go", include_str!("../../controlplane/main.go")),
];

/// How the temporary folders of builds are called in the cache.
pub(super) const WORKSHOP: &str = "build-";

/// The version of `go`, when there is one.
pub(super) fn go_version() -> Option<String> {
    let output = Command::new("go").args(["env", "GOVERSION"]).stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

/// Builds in a temporary folder below `cache`, and moves what came out to `folder` as the last step.
pub(super) fn into(cache: &Path, folder: &Path) -> Result<(), Error> {
    let workshop = tempfile::Builder::new()
        .prefix(WORKSHOP)
        .tempdir_in(cache)
        .map_err(|source| Error::file("create a folder in", cache, source))?;
    for (name, text) in SOURCES {
        let path = workshop.path().join(name);
        fs::write(&path, text).map_err(|source| Error::file("write", &path, source))?;
    }
    let product = workshop.path().join("product");
    fs::create_dir(&product).map_err(|source| Error::file("create", &product, source))?;
    go_build(workshop.path(), &product.join(PROGRAMS[0]))?;
    for alias in &PROGRAMS[1..] {
        let path = product.join(alias);
        fs::hard_link(product.join(PROGRAMS[0]), &path)
            .map_err(|source| Error::file("link", &path, source))?;
    }
    // A remainder without all programs would be in the way of the rename.
    let _ = fs::remove_dir_all(folder);
    fs::rename(&product, folder).map_err(|source| Error::file("move the build to", folder, source))
}

fn go_build(module: &Path, output: &Path) -> Result<(), Error> {
    let version = kubernetes_version();
    say(&format!("building kube-apiserver {version} and etcd, once; about 5 minutes on 2 cores"));
    let stamp = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
    let mut build = Command::new("go")
        .args(["build", "-v", "-trimpath", "-ldflags", &stamp, "-o"])
        .args([output.as_os_str(), OsStr::new(".")])
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| Error::Unavailable { reason: format!("`go build` does not start: {source}") })?;
    let last_words = build.stderr.take().map(follow).unwrap_or_default();
    match build.wait() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::Unavailable { reason: format!("`go build` failed: {last_words}") }),
    }
}

/// Shows how far the build is, and returns the last lines that it wrote.
fn follow(output: ChildStderr) -> String {
    const STEP: Duration = Duration::from_secs(10);
    const KEPT: usize = 5;
    let start = Instant::now();
    let mut shown = Duration::ZERO;
    let mut last = Vec::new();
    // `-v` names each package as it is compiled.
    for (number, line) in BufReader::new(output).lines().map_while(Result::ok).enumerate() {
        if start.elapsed() > shown + STEP {
            shown = start.elapsed();
            say(&format!("{} packages, {} s ({line})", number + 1, shown.as_secs()));
        }
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push(line);
    }
    last.join("; ")
}

fn kubernetes_version() -> &'static str {
    let [(_, module), ..] = SOURCES;
    let mut lines = module.lines().map(str::trim);
    lines.find_map(|line| line.strip_prefix("k8s.io/kubernetes ")).unwrap_or("unknown")
}
