//! The shared libraries of a binary and the CA certificates, from the Debian packages of this machine.
//!
//! The files are those that the packages installed, and `dpkg --verify` says so. The packages' status goes into the image too,
//! as in distroless images: scanners then find the version of libc, and report its vulnerabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

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
pub(super) fn files(binary: &Path) -> anyhow::Result<Base> {
    let mut files = BTreeMap::new();
    let mut owners = BTreeSet::new();
    for path in libraries(binary)? {
        owners.insert(owner(&path)?);
        files.insert(path.clone(), contents(&path)?);
    }
    files.insert(BUNDLE.to_owned(), bundle()?);
    owners.insert("ca-certificates".to_owned());
    // It tells scanners which distribution's list of vulnerabilities applies.
    files.insert("/etc/os-release".to_owned(), contents(OS_RELEASE)?);
    owners.insert(owner(OS_RELEASE)?);
    let packages = owners.iter().map(|name| package(name)).collect::<anyhow::Result<Vec<_>>>()?;
    for package in &packages {
        refuse_changed(package, &files)?;
        let short = package.name.split(':').next().unwrap_or_default();
        files.insert(format!("/var/lib/dpkg/status.d/{short}"), package.status.clone().into_bytes());
        let copyright = format!("/usr/share/doc/{short}/copyright");
        // A machine that excludes documentation keeps copyright files.
        files.insert(copyright.clone(), contents(&copyright)?);
    }
    Ok(Base { files, packages })
}

/// The libraries that the loader finds for `binary`, the loader included; none for a static binary.
fn libraries(binary: &Path) -> anyhow::Result<Vec<String>> {
    let output = std::process::Command::new("ldd").arg(binary).output().context("cannot start ldd")?;
    let text = String::from_utf8(output.stdout)?;
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("not a dynamic executable") || text.contains("statically linked") {
        return Ok(Vec::new());
    }
    if !output.status.success() {
        bail!("ldd cannot read {}: {error}", binary.display());
    }
    parse(&text)
}

/// The paths in the output of ldd.
fn parse(text: &str) -> anyhow::Result<Vec<String>> {
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with("linux-vdso")) {
        let found = line.split("=> ").last().and_then(|rest| rest.split(" (").next()).unwrap_or_default();
        if !found.starts_with('/') {
            bail!("a shared library of the binary is not on this machine: {line}");
        }
        paths.push(found.to_owned());
    }
    Ok(paths)
}

/// The package that installed `path`.
fn owner(path: &str) -> anyhow::Result<String> {
    let text = super::read("dpkg-query", &["--search", path], Path::new("/"));
    let text = text.with_context(|| {
        format!("{path} must come from a Debian package; build the image on Debian, or use the Dockerfile")
    })?;
    let line = text.lines().find(|line| !line.starts_with("diversion")).unwrap_or_default();
    line.rsplit_once(": ").map(|(name, _)| name.to_owned()).with_context(|| format!("dpkg printed {line}"))
}

fn package(name: &str) -> anyhow::Result<Package> {
    let fields = "${Version}\n${Architecture}";
    let text =
        super::read("dpkg-query", &["--show", &format!("--showformat={fields}"), name], Path::new("/"))?;
    let (version, architecture) = text.split_once('\n').context("dpkg-query printed no version")?;
    Ok(Package {
        name: name.split(':').next().unwrap_or_default().to_owned(),
        version: version.to_owned(),
        architecture: architecture.to_owned(),
        status: super::read("dpkg-query", &["--status", name], Path::new("/"))?,
    })
}

/// Fails if a file of the image differs from what the package installed.
fn refuse_changed(package: &Package, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let output = std::process::Command::new("dpkg").args(["--verify", &package.name]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let changed = |line: &&str| {
        line.split_whitespace()
            .last()
            .is_some_and(|path| files.contains_key(path) || path.starts_with(CERTIFICATES))
    };
    match text.lines().find(changed) {
        Some(line) => bail!("a file of {} was changed on this machine: {line}", package.name),
        None => Ok(()),
    }
}

/// Mozilla's certificates in one file, in the order of their names.
fn bundle() -> anyhow::Result<Vec<u8>> {
    let folder = fs::read_dir(CERTIFICATES).context("install the package ca-certificates")?;
    let mut paths = folder.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut bundle = Vec::new();
    for path in paths {
        bundle.extend(fs::read(&path)?);
        if !bundle.ends_with(b"\n") {
            bundle.push(b'\n');
        }
    }
    Ok(bundle)
}

fn contents(path: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn libraries_are_named_by_path_and_a_missing_one_is_an_error() {
        let text = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        assert_eq!(parse(text).unwrap(), ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(parse("\tlibssl.so.3 => not found\n").unwrap_err().to_string().contains("libssl.so.3"));
    }
}
