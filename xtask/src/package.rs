//! `cargo xtask package`: every crate as crates.io would get it.
//!
//! The manifests are checked first, then the contents of the packages. With `--install`, [`install`] unpacks them, installs the binary
//! from them, and runs their tests. With `--verify`, cargo also builds each package in a folder of its own, from the other packages
//! instead of the checkout.

mod install;
mod manifest;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use crate::cargo;
use crate::metadata::{Metadata, Package};

/// crates.io takes no larger package.
const LARGEST: u64 = 10 << 20;

/// The work on the packages beyond a check of their contents.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Arguments {
    /// Also build each package alone, from the other packages: half an hour
    #[arg(long)]
    verify: bool,
    /// Also install the binary from the packages and run it, and run the tests of each package: half an hour
    #[arg(long)]
    install: bool,
}

/// Packages every published crate.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { verify, install } = arguments;
    let packages = published()?;
    let complaints: Vec<_> = packages.iter().flat_map(Package::complaints).collect();
    if !complaints.is_empty() {
        bail!("{}", complaints.join("\n"));
    }
    // Changes that are not committed are packaged too: this is a check, and `cargo publish` refuses them.
    let mut arguments = vec!["package", "--quiet", "--allow-dirty"];
    // Packages are made and built without the network; a new clone has not fetched the dependencies of tests.
    cargo::run(&["fetch", "--quiet", "--locked"])?;
    if !verify {
        arguments.extend(["--no-verify", "--offline"]);
    }
    arguments.extend(packages.iter().flat_map(|package| ["--package", &package.name]));
    cargo::run(&arguments)?;
    let target = Metadata::of_workspace()?.target_directory;
    let folder = target.join("package");
    for package in &packages {
        check(package, &folder.join(package.file()))?;
    }
    let built = if verify { "built alone" } else { "not built; --verify does" };
    println!("packages: {}, contents as they should be, {built}", packages.len());
    if install {
        install::run(&packages, &folder, &target.join("package-install"))?;
    }
    Ok(())
}

/// The packages of the workspace that go to crates.io.
fn published() -> anyhow::Result<Vec<Package>> {
    let mut packages = Metadata::of_workspace()?.packages;
    packages.retain(Package::is_published);
    Ok(packages)
}

/// Whether the file of the package has what its reader needs, and crates.io takes it.
fn check(package: &Package, path: &Path) -> anyhow::Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let size = file.metadata()?.len();
    if size > LARGEST {
        bail!("{} has {size} bytes; crates.io takes {LARGEST}", path.display());
    }
    let mut files = Vec::new();
    for entry in tar::Archive::new(flate2::read::GzDecoder::new(file)).entries()? {
        let path = entry?.path()?.into_owned();
        // The first part is the name with the version.
        files.push(path.components().skip(1).collect());
    }
    let missing = missing(&files);
    if !missing.is_empty() {
        bail!("the package of {} has no {}", package.name, missing.join(", no "));
    }
    Ok(())
}

/// The files that every package has and this one lacks.
fn missing(files: &[PathBuf]) -> Vec<&'static str> {
    let has = |path: &str| files.iter().any(|file| file == Path::new(path));
    let mut missing = ["Cargo.toml", "Cargo.lock", "LICENSE", "README.md"].to_vec();
    missing.retain(|path| !has(path));
    if !has("src/lib.rs") && !has("src/main.rs") {
        missing.push("src/lib.rs");
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_crate_has_what_crates_io_and_docs_rs_need() {
        let packages = published().unwrap();
        assert!(packages.len() > 10);
        let complaints: Vec<_> = packages.iter().flat_map(Package::complaints).collect();
        assert_eq!(complaints, [""; 0]);
    }

    /// A crate below `crates/` is for others; tests, examples, benches and this task runner are not.
    #[test]
    fn the_crates_below_crates_are_published_and_no_other() {
        let metadata = Metadata::of_workspace().unwrap();
        for package in &metadata.packages {
            let is_crate = package.folder(&metadata.workspace_root).starts_with("crates");
            assert_eq!(package.is_published(), is_crate, "{}", package.name);
        }
    }

    #[test]
    fn a_package_without_its_licence_is_noticed() {
        let files = ["Cargo.toml", "Cargo.lock", "README.md", "src/main.rs"].map(Into::into);
        assert_eq!(missing(&files), ["LICENSE"]);
        assert_eq!(missing(&files[..3]), ["LICENSE", "src/lib.rs"]);
    }
}
