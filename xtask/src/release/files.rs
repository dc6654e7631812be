//! The files of a release that are the same for every machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::archive::{self, PLATFORMS};
use super::{IMAGE, changelog, check};
use crate::tarball::{self, Contents};
use crate::{cargo, files};

/// The file with the checksums of all others.
pub(super) const CHECKSUMS: &str = "SHA256SUMS";
/// The changes of the version, for the page of the release. It is no file of the release.
pub(super) const NOTES: &str = "notes.md";
/// The template of the krew manifest.
const KREW: &str = "deploy/krew/vestibule.yaml";
const CHART: &str = "deploy/helm/vestibule";

/// Writes them into `output`, which has the archives of all platforms.
pub(super) fn run(image: &Path, output: &Path) -> anyhow::Result<()> {
    let version = check::version()?;
    let digest = digest(image)?;
    let mut archives = BTreeMap::new();
    for (system, architecture) in PLATFORMS {
        let bytes = files::read_bytes(&output.join(archive::name(&version, system, architecture)))?;
        archives.insert(format!("{system}-{architecture}"), tarball::sha256(&bytes));
    }
    let write = |name: &str, contents: &[u8]| files::write(&output.join(name), contents);
    write("install.yaml", pinned(&files::read_here("deploy/install.yaml")?, &version, &digest)?.as_bytes())?;
    write("krew.yaml", krew(&files::read_here(KREW)?, &version, &archives)?.as_bytes())?;
    write(&chart_name(&version), &archive::pack(&chart(&digest)?)?)?;
    write(NOTES, changelog::section(&files::read_here("CHANGELOG.md")?, &version)?.as_bytes())?;
    let checksums = checksums(output)?;
    write(CHECKSUMS, checksums.as_bytes())?;
    print!("{checksums}");
    Ok(())
}

/// The digest of an image that `cargo xtask image` wrote.
pub(super) fn digest(image: &Path) -> anyhow::Result<String> {
    Ok(files::read(&image.join("digest"))?.trim().to_owned())
}

/// The name of the chart's package.
pub(super) fn chart_name(version: &str) -> String {
    // An archive of the binary has a platform in its name.
    format!("vestibule-chart-{version}.tgz")
}

/// The manifests with the image's digest instead of its tag: a tag may be moved.
pub(super) fn pinned(manifests: &str, version: &str, digest: &str) -> anyhow::Result<String> {
    let tagged = format!("image: {IMAGE}:{version}\n");
    if manifests.matches(&tagged).count() != 1 {
        bail!("deploy/install.yaml does not name {IMAGE}:{version} once");
    }
    Ok(manifests.replace(&tagged, &format!("image: {IMAGE}@{digest}\n")))
}

/// The krew manifest: the template with version and checksums.
pub(super) fn krew(
    template: &str,
    version: &str,
    archives: &BTreeMap<String, String>,
) -> anyhow::Result<String> {
    let mut text =
        template.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n") + "\n";
    text = text.replace("VERSION", version);
    for (platform, checksum) in archives {
        let placeholder = format!("SHA256-{platform}");
        if !text.contains(&placeholder) {
            bail!("{KREW} has no {placeholder}");
        }
        text = text.replace(&placeholder, checksum);
    }
    if let Some(line) = text.lines().find(|line| line.contains("SHA256-")) {
        bail!("{KREW}: there is no archive for `{}`", line.trim());
    }
    Ok(text)
}

/// The chart as `helm package` would pack it, with the image's digest as the default.
pub(super) fn chart(digest: &str) -> anyhow::Result<Contents> {
    let folder = cargo::workspace().join(CHART);
    let mut contents = Contents::new();
    for path in files::below(&folder)? {
        let parts = path.strip_prefix(&folder)?.iter().map(|part| part.to_string_lossy());
        let name = format!("vestibule/{}", parts.collect::<Vec<_>>().join("/"));
        contents.insert(name, (0o644, files::read_bytes(&path)?));
    }
    let (_, values) = contents.get_mut("vestibule/values.yaml").context("the chart has no values.yaml")?;
    let text = String::from_utf8(std::mem::take(values))?;
    if text.matches("  digest: \"\"\n").count() != 1 {
        bail!("values.yaml has no empty image.digest");
    }
    *values = text.replace("  digest: \"\"\n", &format!("  digest: \"{digest}\"\n")).into_bytes();
    Ok(contents)
}

/// A line for each file of the release, as `sha256sum --check` reads it.
pub(super) fn checksums(folder: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    for (name, path) in published(folder)? {
        lines.push(format!("{}  {name}\n", tarball::sha256(&files::read_bytes(&path)?)));
    }
    Ok(lines.concat())
}

/// The files that have a checksum, by name.
pub(super) fn published(folder: &Path) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let files = files::list(folder)?.into_iter().filter(|path| path.is_file());
    let named = files.map(|path| (files::name(&path), path));
    Ok(named.filter(|(name, _)| !name.starts_with(CHECKSUMS) && name != NOTES).collect())
}
