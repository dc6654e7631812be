//! Whether everything that names a version names the same one.

use anyhow::bail;

use super::{IMAGE, changelog};
use crate::binary::PACKAGE;
use crate::files;
use crate::metadata::Metadata;

/// Compares all versions with that of the binary's package. With a tag, the changelog needs a section too.
pub(super) fn run(tag: Option<&str>) -> anyhow::Result<()> {
    let version = version()?;
    let mut wrong = differences(&version)?;
    if let Some(tag) = tag {
        if tag != format!("v{version}") {
            wrong.push(format!("the tag is {tag}, not v{version}"));
        }
        if let Err(error) = changelog::section(&files::read_here("CHANGELOG.md")?, &version) {
            wrong.push(format!("{error:#}"));
        }
    }
    if !wrong.is_empty() {
        bail!("this is no consistent release of {version}:\n  {}", wrong.join("\n  "));
    }
    println!("everything is of version {version}");
    Ok(())
}

/// The version of the binary's package.
pub(super) fn version() -> anyhow::Result<String> {
    Ok(Metadata::of_workspace()?.package(PACKAGE)?.version.clone())
}

/// The places that name another version.
pub(super) fn differences(version: &str) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for package in Metadata::of_workspace()?.packages.iter().filter(|package| package.is_published()) {
        if package.version != version {
            wrong.push(format!("the crate {} has version {}", package.name, package.version));
        }
    }
    let image = format!("image: {IMAGE}:{version}");
    let (version, app_version) = (format!("version: {version}"), format!("appVersion: {version}"));
    for (file, line) in [
        ("deploy/helm/vestibule/Chart.yaml", &version),
        ("deploy/helm/vestibule/Chart.yaml", &app_version),
        ("deploy/install.yaml", &image),
    ] {
        if !files::read_here(file)?.lines().any(|found| found.trim() == line) {
            wrong.push(format!("{file} has no line `{line}`"));
        }
    }
    Ok(wrong)
}
