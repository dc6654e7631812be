//! The archive for people without Rust: the binary, completions, manual pages, SBOM and licence.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use super::check;
use crate::binary::{self, Build, PACKAGE};
use crate::image::{self, Source};
use crate::{cargo, files, smoke, tarball};

/// The files of an archive by path, with their modes.
pub(super) type Contents = BTreeMap<String, (u32, Vec<u8>)>;

/// Shells, the names under which they find completions, and the word by which they register them.
const COMPLETIONS: [(&str, &str, &str); 4] = [
    ("bash", "completions/vestibule.bash", "complete -F _vestibule"),
    ("zsh", "completions/_vestibule", "#compdef vestibule"),
    ("fish", "completions/vestibule.fish", "complete -c vestibule"),
    ("powershell", "completions/_vestibule.ps1", "Register-ArgumentCompleter"),
];

/// The platforms of a release, in the words of Go, which krew and OCI images use.
pub(super) const PLATFORMS: [(&str, &str); 5] =
    [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64"), ("windows", "amd64")];

/// Tries `binary` or a release build, and packs it.
pub(super) fn run(binary: Option<&Path>, output: &Path) -> anyhow::Result<()> {
    let source = Source::here()?;
    let (system, architecture) = here()?;
    let binary = binary::find(binary, Build::Release)?;
    // The file that is packed, so that no other build is tried in its place.
    smoke::run(Some(&binary))?;
    let version = check::version()?;
    let mut contents = generated(&binary)?;
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

/// Completions and manual pages, printed by the binary itself.
fn generated(binary: &Path) -> anyhow::Result<Contents> {
    let mut contents = Contents::new();
    let printed = |arguments: &[&str]| cargo::output(Command::new(binary).args(arguments));
    for (shell, path, _) in COMPLETIONS {
        contents.insert(path.to_owned(), (0o644, printed(&["completions", shell])?.into_bytes()));
    }
    let folder = tempfile::tempdir()?;
    printed(&["man", "--dir", &folder.path().to_string_lossy()])?;
    for path in files::list(folder.path())? {
        contents.insert(format!("man/man1/{}", files::name(&path)), (0o644, files::read_bytes(&path)?));
    }
    Ok(contents)
}

/// Checks the generated files: completions that each shell registers, and a page of each command that `--help` lists. `smoke` calls
/// this with the binary of a change and with that of a release.
pub(crate) fn check_generated(binary: &Path) -> anyhow::Result<()> {
    let contents = generated(binary)?;
    let help = cargo::output(Command::new(binary).arg("--help"))?;
    let pages = commands(&help).map(|command| (format!("man/man1/vestibule-{command}.1"), ".TH vestibule-"));
    let pages: Vec<_> = pages.collect();
    if pages.len() < 2 {
        bail!("`--help` lists no commands:\n{help}");
    }
    let completions = COMPLETIONS.map(|(_, path, word)| (path.to_owned(), word));
    for (path, word) in pages.into_iter().chain(completions) {
        let (_, text) = contents.get(&path).with_context(|| format!("the archive has no {path}"))?;
        if !String::from_utf8_lossy(text).contains(word) {
            bail!("{path} has no `{word}`");
        }
    }
    Ok(())
}

/// The commands in a help text; each line of the list begins with one.
pub(super) fn commands(help: &str) -> impl Iterator<Item = &str> {
    let (_, list) = help.split_once("Commands:").unwrap_or_default();
    let words = list.lines().skip(1).map_while(|line| line.split_whitespace().next());
    words.filter(|command| *command != "help")
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
