//! The archive for people without Rust: the binary, completions, manual pages, SBOM and licence.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::check;
use crate::binary::PACKAGE;
use crate::binary_build::{self, Build};
use crate::image::{self, Source};
use crate::tarball::{self, Contents};
use crate::{files, generated, smoke};

/// The platforms of a release, in the words of Go, which krew and OCI images use.
pub(super) const PLATFORMS: [(&str, &str); 5] =
    [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64"), ("windows", "amd64")];

/// Tries `binary` or a release build, and packs it.
pub(super) fn run(binary: Option<&Path>, profile: Option<&Path>, output: &Path) -> anyhow::Result<()> {
    let source = Source::here()?;
    let (system, architecture) = here()?;
    let binary = binary_build::find(binary, Build::Release(profile))?;
    // The file that is packed, so that no other build is tried in its place.
    smoke::run(Some(&binary))?;
    let version = check::version()?;
    let mut contents = generated::contents(&binary)?;
    contents.insert("vestibule.cdx.json".to_owned(), (0o644, image::bill(&source, PACKAGE)?.into_bytes()));
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        contents.insert(file.to_owned(), (0o644, files::read_here(file)?.into_bytes()));
    }
    contents.insert(program_name(system).to_owned(), (0o755, files::read_bytes(&binary)?));
    fs::create_dir_all(output)?;
    let path = output.join(name(&version, system, architecture));
    files::write(&path, pack(&contents)?)?;
    println!("{}: {} files", path.display(), contents.len());
    Ok(())
}

/// The name of an archive.
pub(super) fn name(version: &str, system: &str, architecture: &str) -> String {
    format!("vestibule-{version}-{system}-{architecture}.tar.gz")
}

/// The name of the binary in an archive.
pub(super) fn program_name(system: &str) -> &'static str {
    if system == "windows" { "vestibule.exe" } else { "vestibule" }
}

/// A tar of these files, compressed: equal files give equal bytes.
pub(super) fn pack(contents: &Contents) -> anyhow::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, (mode, bytes)) in contents {
        tarball::append(&mut tar, path, *mode, bytes)?;
    }
    tarball::pack(&tar.into_inner()?)
}

/// This machine's platform.
fn here() -> anyhow::Result<(&'static str, &'static str)> {
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let system = if system == "macos" { "darwin" } else { system };
    let architecture = match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let known = PLATFORMS.into_iter().find(|platform| *platform == (system, architecture));
    known.with_context(|| format!("there is no archive for {system}-{architecture}"))
}
