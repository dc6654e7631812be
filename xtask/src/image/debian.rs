//! The shared libraries of a binary and the CA certificates, from the Debian packages of this machine. For a binary of another
//! architecture, dpkg has to have installed the packages of that architecture too.
//!
//! The files are those that the packages installed, and `dpkg --verify` says so. The packages' status goes into the image too,
//! as in distroless images: scanners then find the version of libc, and report its vulnerabilities.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use super::Architecture;
use crate::{cargo, files};

/// Files and the packages that they came from.
pub(super) struct Base {
    /// By absolute path.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) packages: Vec<Package>,
}

/// An installed package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) architecture: String,
    /// The paragraph of dpkg's database.
    pub(super) status: String,
}

/// The folder of Mozilla's certificates, one a file. The bundle in /etc is not used: it also has the machine's own CAs.
const CERTIFICATES: &str = "/usr/share/ca-certificates/mozilla";
/// The path at which programs look for the bundle.
pub(super) const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
const OS_RELEASE: &str = "/usr/lib/os-release";

/// The files that `binary` needs besides itself.
pub(super) fn files(binary: &Path, arch: Architecture) -> anyhow::Result<Base> {
    let mut files = BTreeMap::new();
    let mut owners = BTreeSet::new();
    for path in libraries(binary, arch)? {
        owners.insert(owner(&path)?);
        files.insert(path.clone(), files::read_bytes(path.as_ref())?);
    }
    files.insert(BUNDLE.to_owned(), bundle()?);
    owners.insert("ca-certificates".to_owned());
    // This file tells scanners which distribution's list of vulnerabilities applies.
    files.insert("/etc/os-release".to_owned(), files::read_bytes(OS_RELEASE.as_ref())?);
    owners.insert(owner(OS_RELEASE)?);
    let mut packages = Vec::new();
    for owner in owners {
        refuse_changed(&owner, &files)?;
        let package = package(&owner)?;
        files.insert(format!("/var/lib/dpkg/status.d/{}", package.name), package.status.clone().into_bytes());
        let copyright = format!("/usr/share/doc/{}/copyright", package.name);
        // A machine that excludes documentation keeps copyright files.
        files.insert(copyright.clone(), files::read_bytes(copyright.as_ref())?);
        packages.push(package);
    }
    Ok(Base { files, packages })
}

/// The shared libraries of `binary`, with those that they need themselves, and the loader; none for a static binary.
///
/// `ldd` runs the loader, so it reads only files for this machine; `readelf` reads those of any architecture.
fn libraries(binary: &Path, arch: Architecture) -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut unread = vec![binary.to_owned()];
    while let Some(path) = unread.pop() {
        let linked = linked(&path)?;
        for name in linked.interpreter.into_iter().chain(linked.libraries) {
            // The loader is also a library of libc; the path in the binary comes first.
            let file = name.rsplit('/').next().unwrap_or_default().to_owned();
            if let Entry::Vacant(entry) = found.entry(file) {
                let path = if name.starts_with('/') { name } else { installed(&name, arch)? };
                unread.push(path.clone().into());
                entry.insert(path);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The path of a library in the folders of Debian's packages for `arch`.
fn installed(library: &str, arch: Architecture) -> anyhow::Result<String> {
    let folder = arch.debian();
    let paths = ["/lib", "/usr/lib"].map(|top| format!("{top}/{folder}/{library}"));
    paths.into_iter().find(|path| Path::new(path).is_file()).with_context(|| {
        let name = arch.name();
        format!(
            "the shared library {library} of the binary is neither in /lib/{folder} nor in /usr/lib/{folder}; its Debian package for \
             {name} brings it, after `dpkg --add-architecture {name}` if this machine is of another architecture"
        )
    })
}

/// The loader and the libraries that an ELF file names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Linked {
    interpreter: Option<String>,
    libraries: Vec<String>,
}

fn linked(path: &Path) -> anyhow::Result<Linked> {
    let mut command = Command::new("readelf");
    command.args(["--program-headers", "--dynamic", "--wide"]).arg(path).env("LC_ALL", "C");
    let text = cargo::output(&mut command).context("`apt-get install binutils` brings readelf")?;
    Ok(parse(&text))
}

/// Reads the output of readelf.
fn parse(text: &str) -> Linked {
    let mut linked = Linked::default();
    for line in text.lines().filter_map(|line| line.trim_end().strip_suffix(']')) {
        if let Some((_, path)) = line.split_once("[Requesting program interpreter: ") {
            linked.interpreter = Some(path.to_owned());
        } else if let Some((_, name)) = line.split_once("Shared library: [") {
            linked.libraries.push(name.to_owned());
        }
    }
    linked
}

/// The package that installed `path`.
fn owner(path: &str) -> anyhow::Result<String> {
    let text = query(&["--search", path]).with_context(|| {
        format!("{path} must come from a Debian package; build the image on Debian, or use the Dockerfile")
    })?;
    let line = text.lines().find(|line| !line.starts_with("diversion")).unwrap_or_default();
    line.rsplit_once(": ").map(|(name, _)| name.to_owned()).with_context(|| format!("dpkg printed {line}"))
}

fn package(name: &str) -> anyhow::Result<Package> {
    let text = query(&["--show", "--showformat=${Version}\n${Architecture}", name])?;
    let (version, architecture) = text.split_once('\n').context("dpkg-query printed no version")?;
    Ok(Package {
        name: name.split(':').next().unwrap_or_default().to_owned(),
        version: version.to_owned(),
        architecture: architecture.to_owned(),
        status: query(&["--status", name])?,
    })
}

/// Asks dpkg's database.
fn query(arguments: &[&str]) -> anyhow::Result<String> {
    cargo::output(Command::new("dpkg-query").args(arguments))
}

/// Fails if a file of the image differs from the one that `package` installed.
fn refuse_changed(package: &str, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let output = Command::new("dpkg").args(["--verify", package]).output()?;
    let text = String::from_utf8(output.stdout)?;
    if text.is_empty() && !output.status.success() {
        bail!("dpkg cannot verify {package}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let changed = |line: &&str| {
        line.split_whitespace()
            .last()
            .is_some_and(|path| files.contains_key(path) || path.starts_with(CERTIFICATES))
    };
    match text.lines().find(changed) {
        Some(line) => bail!("a file of {package} was changed on this machine: {line}"),
        None => Ok(()),
    }
}

/// Mozilla's certificates in one file, in the order of their names.
fn bundle() -> anyhow::Result<Vec<u8>> {
    let mut bundle = Vec::new();
    for path in files::list(CERTIFICATES.as_ref()).context("install the package ca-certificates")? {
        bundle.extend(files::read_bytes(&path)?);
        if !bundle.ends_with(b"\n") {
            bundle.push(b'\n');
        }
    }
    Ok(bundle)
}

#[cfg(test)]
mod tests {
    use super::{Linked, parse};

    #[test]
    fn the_loader_and_the_libraries_of_a_binary_are_read() {
        let text = "  INTERP  0x000318 R 0x1\n      [Requesting program interpreter: /lib/ld-linux-aarch64.so.1]\n \
                    0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n \
                    0x000000000000000e (SONAME)             Library soname: [hook]\n";
        let expected = Linked {
            interpreter: Some("/lib/ld-linux-aarch64.so.1".to_owned()),
            libraries: vec!["libc.so.6".to_owned()],
        };
        assert_eq!(parse(text), expected);
        assert_eq!(parse("There is no dynamic section in this file.\n"), Linked::default());
    }

    /// Every dynamic binary for Linux has a loader, which is itself a library of libc.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_libraries_of_a_binary_are_found_by_path_with_their_own() {
        let arch = super::Architecture::here();
        if !std::path::Path::new("/lib").join(arch.debian()).is_dir() {
            eprintln!("skipped: the libraries of this machine are not where Debian has them");
            return;
        }
        let found = super::libraries(&std::env::current_exe().unwrap(), arch).unwrap();
        assert!(found.iter().all(|path| std::path::Path::new(path).is_file()), "{found:?}");
        assert_eq!(found.iter().filter(|path| path.contains("/ld-linux")).count(), 1, "{found:?}");
        assert_eq!(found.iter().filter(|path| path.ends_with("/libc.so.6")).count(), 1, "{found:?}");
        let missing = super::installed("libabsent.so.1", arch).unwrap_err().to_string();
        assert!(missing.contains("libabsent.so.1") && missing.contains(arch.name()), "{missing}");
    }
}
