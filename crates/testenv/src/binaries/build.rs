//! Building programs from Go modules.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::module::Module;
use crate::Error;
use crate::report::say;

/// The version of `go`, when there is one.
pub(super) fn go_version() -> Option<String> {
    let output = Command::new("go").args(["env", "GOVERSION"]).stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

/// Builds in a temporary folder below `cache`, and moves what came out to `folder` as the last step.
pub(super) fn into(cache: &Path, folder: &Path, module: &Module) -> Result<(), Error> {
    let workshop = tempfile::Builder::new()
        .prefix(&module.workshop())
        .tempdir_in(cache)
        .map_err(|source| Error::file("create a folder in", cache, source))?;
    for (name, text) in module.sources {
        let path = workshop.path().join(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(|source| Error::file("create", parent, source))?;
        fs::write(&path, text).map_err(|source| Error::file("write", &path, source))?;
    }
    let product = workshop.path().join("product");
    fs::create_dir(&product).map_err(|source| Error::file("create", &product, source))?;
    say(&format!("building {}, once; about {} minutes on 2 cores", module.what, module.minutes));
    for (package, programs) in module.programs {
        let Some((program, aliases)) = programs.split_first() else { continue };
        let program = product.join(program);
        go_build(workshop.path(), package, &program, &module.version())?;
        for alias in aliases {
            let path = product.join(alias);
            fs::hard_link(&program, &path).map_err(|source| Error::file("link", &path, source))?;
        }
    }
    // A remainder without all programs would be in the way of the rename.
    let _ = fs::remove_dir_all(folder);
    fs::rename(&product, folder).map_err(|source| Error::file("move the build to", folder, source))
}

fn go_build(module: &Path, package: &str, output: &Path, version: &str) -> Result<(), Error> {
    let stamp = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
    let mut build = Command::new("go")
        .args(["build", "-v", "-trimpath", "-ldflags", &stamp, "-o"])
        .args([output.as_os_str(), OsStr::new(package)])
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
        _ => Err(Error::Unavailable { reason: format!("`go build {package}` failed: {last_words}") }),
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
