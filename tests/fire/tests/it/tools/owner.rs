//! Tools that own the configuration, driven by their commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use vestibule_testenv::Tools;

use super::fixture::{ToolFixture, Version, succeed};

/// A tool that applies a version of the manifests.
pub(crate) trait Owner {
    /// Applies the version.
    fn release(&self, fixture: &ToolFixture<'_>, version: Version);

    /// Asserts that the tool sees no difference from this version.
    fn sees_no_difference(&self, fixture: &ToolFixture<'_>, version: Version);
}

/// `kubectl apply` with these flags.
pub(crate) struct Apply<'t> {
    pub(crate) tools: &'t Tools,
    pub(crate) flags: &'static [&'static str],
}

impl Apply<'_> {
    fn kubectl(&self, fixture: &ToolFixture<'_>, command: &str, version: Version) -> Command {
        let mut kubectl = fixture.env.command(&self.tools.kubectl);
        kubectl.arg(command).args(self.flags).arg("-f").arg(fixture.file(version));
        kubectl
    }
}

impl Owner for Apply<'_> {
    fn release(&self, fixture: &ToolFixture<'_>, version: Version) {
        succeed(&mut self.kubectl(fixture, "apply", version));
    }

    fn sees_no_difference(&self, fixture: &ToolFixture<'_>, version: Version) {
        // `kubectl diff` exits with 1 if there is a difference.
        succeed(&mut self.kubectl(fixture, "diff", version));
    }
}

/// `helm upgrade --install`.
pub(crate) struct Helm<'t> {
    pub(crate) program: &'t Path,
    pub(crate) flags: &'static [&'static str],
}

impl Helm<'_> {
    /// `helm COMMAND hooks` in the Service's namespace.
    pub(crate) fn run(&self, fixture: &ToolFixture<'_>, command: &str, arguments: &[&str]) -> String {
        let mut helm = fixture.env.command(self.program);
        helm.args([command, "hooks", "--namespace", &fixture.home]).args(arguments);
        String::from_utf8(succeed(&mut helm).stdout).unwrap()
    }

    pub(crate) fn upgrade(&self, fixture: &ToolFixture<'_>, version: Version, flags: &[&str]) {
        let chart = chart(fixture, version);
        let chart = chart.to_str().unwrap();
        self.run(fixture, "upgrade", &[&["--install", chart], flags].concat());
    }
}

impl Owner for Helm<'_> {
    fn release(&self, fixture: &ToolFixture<'_>, version: Version) {
        self.upgrade(fixture, version, self.flags);
    }

    /// Helm has no diff; a release that changes nothing stands for it.
    fn sees_no_difference(&self, fixture: &ToolFixture<'_>, version: Version) {
        self.upgrade(fixture, version, self.flags);
    }
}

/// The version as a chart.
fn chart(fixture: &ToolFixture<'_>, version: Version) -> PathBuf {
    let folder = fixture.env.folder().join(format!("{}-{version:?}", fixture.home));
    write_chart(&folder, &fixture.manifest(version));
    folder
}

/// A chart with this one object.
pub(crate) fn write_chart(folder: &Path, manifest: &Value) {
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: hooks\nversion: 1.0.0\n").unwrap();
    // JSON is valid YAML, and this manifest has no template syntax.
    std::fs::write(folder.join("templates/hooks.yaml"), manifest.to_string()).unwrap();
}
