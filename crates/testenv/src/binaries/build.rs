//! Building programs from Go modules.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::module::Module;
use crate::error::Error;
use crate::files::write;
use crate::report::print_line;

/// The version of the `go` in PATH.
pub(super) fn go_version() -> Option<String> {
    let output = Command::new("go").args(["env", "GOVERSION"]).stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

/// Builds in a temporary folder below `cache`, and moves the programs to `folder` as the last step.
pub(super) fn into(cache: &Path, folder: &Path, module: &Module) -> Result<(), Error> {
    let build_folder = tempfile::Builder::new()
        .prefix(&module.build_prefix())
        .tempdir_in(cache)
        .map_err(|source| Error::file("create a folder in", cache, source))?;
    for (name, text) in module.sources {
        let path = build_folder.path().join(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(|source| Error::file("create", parent, source))?;
        write(&path, text)?;
    }
    let output = build_folder.path().join("output");
    fs::create_dir(&output).map_err(|source| Error::file("create", &output, source))?;
    print_line(&format!(
        "building {}, once; about {} minutes on 2 cores",
        module.description, module.minutes
    ));
    for (package, programs) in module.programs {
        let Some((program, aliases)) = programs.split_first() else { continue };
        let program = output.join(program);
        go_build(build_folder.path(), package, &program, &module.version())?;
        for alias in aliases {
            let path = output.join(alias);
            fs::hard_link(&program, &path).map_err(|source| Error::file("link", &path, source))?;
        }
    }
    // An incomplete folder would make the rename fail.
    let _ = fs::remove_dir_all(folder);
    fs::rename(&output, folder).map_err(|source| Error::file("move the build to", folder, source))
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
    let last_lines = build.stderr.take().map(follow).unwrap_or_default();
    match build.wait() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::Unavailable { reason: format!("`go build {package}` failed: {last_lines}") }),
    }
}

/// Prints the progress of the build every 10 s, and returns its last lines.
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
            print_line(&format!("{} packages, {} s ({line})", number + 1, shown.as_secs()));
        }
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push(line);
    }
    last.join("; ")
}
