//! A control plane of another version of Kubernetes, for `cargo xtask test --apiserver 1.30`.
//!
//! It is built with Go from the newest patch of that minor version, once, into the cache. `vestibule-testenv` finds it by
//! `KUBEBUILDER_ASSETS`, as it finds any other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::{cargo, controlplane, files, tarball};

const KUBERNETES: &str = "k8s.io/kubernetes";
/// One binary, which runs the program that it is called as.
const PROGRAMS: [&str; 3] = ["kube-apiserver", "etcd", "kube-controller-manager"];
const SOURCE: &str = "crates/testenv/controlplane/main.go";
/// The module of the version that the tests take anyway.
const USUAL: &str = "crates/testenv/controlplane/go.mod";

/// The programs of one version.
pub(super) struct Assets {
    /// `1.30.14`
    pub(super) version: String,
    /// None for the programs that the tests take anyway.
    pub(super) folder: Option<PathBuf>,
}

/// Finds or builds the programs of the minor version, such as `1.30`.
pub(super) fn assets(minor: &str) -> anyhow::Result<Assets> {
    if let Some(version) = usual(minor)?
        && std::env::var_os(controlplane::ASSETS).is_none()
    {
        return Ok(Assets { version: version.trim_start_matches('v').to_owned(), folder: None });
    }
    let version = newest_patch(&go(&["list", "-m", "-versions", KUBERNETES], Path::new("."))?, minor)?;
    // Another source is another program.
    let source = tarball::sha256(files::read_here(SOURCE)?.as_bytes());
    let folder = cargo::cache()?.join(format!("apiserver-{version}-{}", source.get(..16).unwrap_or(&source)));
    if !PROGRAMS.iter().all(|program| folder.join(program).is_file()) {
        println!("building kube-apiserver {version}, once; about 10 minutes on 2 cores");
        build(&version, &folder)?;
    }
    println!("kube-apiserver {version}: {}", folder.display());
    Ok(Assets { version: version.trim_start_matches('v').to_owned(), folder: Some(folder) })
}

/// The version of the control plane that the tests take anyway, if it is of this minor version.
fn usual(minor: &str) -> anyhow::Result<Option<String>> {
    let module = files::read_here(USUAL)?;
    let line = module.lines().find(|line| line.trim().starts_with(&format!("{KUBERNETES} ")));
    Ok(newest_patch(line.with_context(|| format!("{USUAL} requires no {KUBERNETES}"))?, minor).ok())
}

/// Builds in a temporary folder. The programs are moved as the last step.
fn build(version: &str, folder: &Path) -> anyhow::Result<()> {
    let cache = folder.parent().unwrap_or(folder);
    fs::create_dir_all(cache)?;
    let module = tempfile::tempdir_in(cache)?;
    let module_version = format!("{KUBERNETES}@{version}");
    // A module file has to be there to download into.
    fs::write(module.path().join("go.mod"), "module vestibule.dev/controlplane\n\ngo 1.24\n")?;
    let downloaded: Value =
        serde_json::from_str(&go(&["mod", "download", "-json", &module_version], module.path())?)?;
    let upstream = downloaded["GoMod"].as_str().context("`go mod download` names no go.mod")?;
    let upstream = files::read(Path::new(upstream))?;
    fs::write(module.path().join("go.mod"), module_file(version, &upstream)?)?;
    fs::copy(cargo::workspace().join(SOURCE), module.path().join("main.go"))?;
    go(&["mod", "tidy"], module.path())?;
    let output = module.path().join("output");
    fs::create_dir(&output)?;
    let stamp = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
    let [program, aliases @ ..] = PROGRAMS;
    let program = output.join(program);
    go(&["build", "-trimpath", "-ldflags", &stamp, "-o", &program.to_string_lossy(), "."], module.path())?;
    for alias in aliases {
        fs::hard_link(&program, output.join(alias))?;
    }
    if folder.exists() {
        // An incomplete folder, over which the rename would fail.
        fs::remove_dir_all(folder)?;
    }
    fs::rename(&output, folder).with_context(|| format!("cannot move the build to {}", folder.display()))
}

/// The newest release of a minor version among the words that `go list -m -versions` prints.
fn newest_patch(versions: &str, minor: &str) -> anyhow::Result<String> {
    let prefix = format!("v{minor}.");
    let patches =
        versions.split_whitespace().filter_map(|version| version.strip_prefix(&prefix)?.parse::<u32>().ok());
    let newest = patches.max().with_context(|| format!("there is no release of Kubernetes {minor}"))?;
    Ok(format!("{prefix}{newest}"))
}

/// A module that requires `version` of Kubernetes. Its own module file, `upstream`, names its parts by folders that are not in the
/// download; they are modules of the same version.
fn module_file(version: &str, upstream: &str) -> anyhow::Result<String> {
    let parts_version = version.replacen("v1.", "v0.", 1);
    let etcd = upstream.lines().find_map(|line| line.trim().strip_prefix("go.etcd.io/etcd/server/v3 "));
    let etcd = etcd.and_then(|rest| rest.split_whitespace().next()).context("Kubernetes requires no etcd")?;
    let parts = upstream.lines().filter_map(|line| line.trim().split_once(" => ./staging/"));
    let replaced: Vec<_> = parts.map(|(part, _)| format!("\t{part} => {part} {parts_version}\n")).collect();
    let (go, replace) = if replaced.is_empty() {
        // Newer versions name their parts as modules.
        ("1.26", String::new())
    } else {
        ("1.24", format!("\nreplace (\n{})\n", replaced.concat()))
    };
    Ok(format!(
        "module vestibule.dev/controlplane\n\ngo {go}\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 {etcd}\n\t{KUBERNETES} \
         {version}\n)\n{replace}"
    ))
}

fn go(arguments: &[&str], folder: &Path) -> anyhow::Result<String> {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(folder).env("CGO_ENABLED", "0");
    cargo::output(&mut command).context("other versions of kube-apiserver are built by go")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_patch_is_chosen_by_number_and_no_candidate() {
        let versions = "k8s.io/kubernetes v1.3.0 v1.30.0 v1.30.2 v1.30.14 v1.30.15-rc.0 v1.31.1";
        assert_eq!(newest_patch(versions, "1.30").unwrap(), "v1.30.14");
        assert_eq!(newest_patch(versions, "1.3").unwrap(), "v1.3.0");
        assert!(newest_patch(versions, "1.32").unwrap_err().to_string().contains("1.32"));
    }

    /// Without a build, and without Go.
    #[test]
    fn the_version_of_all_tests_is_known_by_its_module() {
        let module = files::read_here(USUAL).unwrap();
        let version =
            module.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v")).unwrap();
        let (minor, _) = version.rsplit_once('.').unwrap();
        assert_eq!(usual(minor).unwrap(), Some(format!("v{version}")));
        assert_eq!(usual("1.30").unwrap(), None);
    }

    #[test]
    fn parts_of_kubernetes_are_modules_of_its_version() {
        let upstream = "require (\n\tgo.etcd.io/etcd/server/v3 v3.5.10 // indirect\n)\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n";
        let file = module_file("v1.30.14", upstream).unwrap();
        assert!(file.contains("\tk8s.io/api => k8s.io/api v0.30.14\n"), "{file}");
        assert!(
            file.contains("\tgo.etcd.io/etcd/server/v3 v3.5.10\n\tk8s.io/kubernetes v1.30.14\n"),
            "{file}"
        );
        let newer = module_file("v1.36.2", "\tgo.etcd.io/etcd/server/v3 v3.6.8\n").unwrap();
        assert!(!newer.contains("replace") && newer.contains("v1.36.2"), "{newer}");
        assert!(module_file("v1.30.14", "").is_err());
    }
}
