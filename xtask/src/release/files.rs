//! The files of a release that are the same for every machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use super::archive::{self, Contents, PLATFORMS};
use super::{IMAGE, changelog, check};
use crate::cargo;
use crate::tarball;

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
        let path = output.join(archive::name(&version, system, architecture));
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        archives.insert(format!("{system}-{architecture}"), tarball::sha256(&bytes));
    }
    let write = |name: &str, contents: &[u8]| {
        fs::write(output.join(name), contents).with_context(|| format!("cannot write {name}"))
    };
    write("install.yaml", pinned(&check::read("deploy/install.yaml")?, &version, &digest)?.as_bytes())?;
    write("krew.yaml", krew(&check::read(KREW)?, &version, &archives)?.as_bytes())?;
    write(&chart_name(&version), &archive::pack(&chart(&digest)?)?)?;
    write(NOTES, changelog::section(&check::read("CHANGELOG.md")?, &version)?.as_bytes())?;
    let checksums = checksums(output)?;
    write(CHECKSUMS, checksums.as_bytes())?;
    print!("{checksums}");
    Ok(())
}

/// The digest of an image that `cargo xtask image` wrote.
pub(super) fn digest(image: &Path) -> anyhow::Result<String> {
    let path = image.join("digest");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.trim().to_owned())
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
    collect(&folder, "vestibule", &mut contents)?;
    let (_, values) = contents.get_mut("vestibule/values.yaml").context("the chart has no values.yaml")?;
    let text = String::from_utf8(std::mem::take(values))?;
    if text.matches("  digest: \"\"\n").count() != 1 {
        bail!("values.yaml has no empty image.digest");
    }
    *values = text.replace("  digest: \"\"\n", &format!("  digest: \"{digest}\"\n")).into_bytes();
    Ok(contents)
}

fn collect(folder: &Path, prefix: &str, contents: &mut Contents) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = format!("{prefix}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &name, contents)?;
        } else {
            contents.insert(name, (0o644, fs::read(&path)?));
        }
    }
    Ok(())
}

/// A line for each file of the release, as `sha256sum --check` reads it.
pub(super) fn checksums(folder: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    for (name, path) in published(folder)? {
        lines.push(format!("{}  {name}\n", tarball::sha256(&fs::read(path)?)));
    }
    Ok(lines.concat())
}

/// The files that have a checksum, by name.
pub(super) fn published(folder: &Path) -> anyhow::Result<BTreeMap<String, std::path::PathBuf>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !name.starts_with(CHECKSUMS) && name != NOTES {
            files.insert(name, path);
        }
    }
    Ok(files)
}
