//! The packages as their users have them: the binary installed from them, and their tests built and run.
//!
//! They are unpacked outside the checkout, so that no file and no setting of it is found. The packages of this release are not on
//! crates.io yet; the unpacked ones take their places.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::binary::PACKAGE;
use crate::metadata::Package;
use crate::{cargo, files};

/// The unpacked packages.
struct Unpacked<'p> {
    packages: &'p [Package],
    folder: PathBuf,
    /// The folder for builds, kept for the next run.
    target: PathBuf,
}

/// Unpacks the packages, whose files are in `archives`, installs the binary and runs it, then the tests of each package.
pub(super) fn run(packages: &[Package], archives: &Path, target: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for package in packages {
        let path = archives.join(package.file());
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(folder.path())?;
    }
    let unpacked = Unpacked { packages, folder: folder.path().canonicalize()?, target: target.to_owned() };
    unpacked.lock()?;
    unpacked.install()?;
    let failed: Vec<_> = packages.iter().filter_map(|package| unpacked.test(package).err()).collect();
    if !failed.is_empty() {
        bail!("{}", failed.iter().map(|error| format!("{error:#}")).collect::<Vec<_>>().join("\n"));
    }
    println!("installed {PACKAGE} from {} packages; the tests of each passed", packages.len());
    Ok(())
}

impl Unpacked<'_> {
    fn folder_of(&self, package: &Package) -> PathBuf {
        self.folder.join(format!("{}-{}", package.name, package.version))
    }

    /// The locked versions hold, so that the network is not needed; the packages of this release are folders there.
    fn lock(&self) -> anyhow::Result<()> {
        let names: Vec<_> = self.packages.iter().map(|package| package.name.as_str()).collect();
        for package in self.packages {
            let file = self.folder_of(package).join("Cargo.lock");
            files::write(&file, of_folders(&files::read(&file)?, &names))?;
        }
        Ok(())
    }

    /// `cargo ARGUMENTS` in the folder of a package, with the packages that its lock names from their folders.
    fn cargo(&self, package: &Package, arguments: &[&str]) -> anyhow::Result<Command> {
        let here = self.folder_of(package);
        let locked = files::read(&here.join("Cargo.lock"))?;
        let mut command = cargo::command(arguments);
        command.args(["--offline", "--locked"]).current_dir(&here).env("CARGO_TARGET_DIR", &self.target);
        // An unused replacement would have to be in the lock.
        let others = self.packages.iter().filter(|other| other.name != package.name);
        for other in others.filter(|other| locked.contains(&format!("\nname = \"{}\"\n", other.name))) {
            // In single quotes a path is taken as it is.
            let replaced =
                format!("patch.crates-io.{}.path='{}'", other.name, self.folder_of(other).display());
            command.args(["--config", &replaced]);
        }
        // Debug information and incremental builds cost minutes here, and are not used.
        command.envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")]);
        cargo::without_settings(&mut command);
        Ok(command)
    }

    /// As `cargo install vestibule-cli`, without optimisation.
    fn install(&self) -> anyhow::Result<()> {
        let package = self.packages.iter().find(|package| package.name == PACKAGE);
        let package = package.with_context(|| format!("there is no package {PACKAGE}"))?;
        let root = self.folder.join("installed");
        let mut command =
            self.cargo(package, &["install", "--quiet", "--debug", "--no-track", "--path", "."])?;
        cargo::finish(command.arg("--root").arg(&root))?;
        let binary = root.join("bin").join(format!("vestibule{}", std::env::consts::EXE_SUFFIX));
        let empty = tempfile::tempdir()?;
        for (arguments, words) in [("version", package.version.as_str()), ("try", "second pass: no change")] {
            let output = Command::new(&binary).arg(arguments).current_dir(empty.path()).output();
            let output = output.with_context(|| format!("cannot start {}", binary.display()))?;
            let out = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() || !out.contains(words) {
                let error = String::from_utf8_lossy(&output.stderr);
                bail!("`vestibule {arguments}`: expected `{words}`, got {}:\n{out}{error}", output.status);
            }
            println!("installed: `vestibule {arguments}` works");
        }
        Ok(())
    }

    fn test(&self, package: &Package) -> anyhow::Result<()> {
        println!("{}: cargo test", package.name);
        let mut command = self.cargo(package, &["test", "--quiet", "--no-fail-fast"])?;
        // Fewer cases of each property than in the suite, where the crates are optimised.
        cargo::finish(command.env("VESTIBULE_CASES", "100"))
            .with_context(|| format!("the package {}", package.name))
    }
}

/// A `Cargo.lock` in which the packages with these `names` come from folders instead of a registry.
fn of_folders(lock: &str, names: &[&str]) -> String {
    let mut is_ours = false;
    let mut changed = String::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            is_ours = names.contains(&name.trim_matches('"'));
        }
        if !is_ours || !(line.starts_with("source = ") || line.starts_with("checksum = ")) {
            changed.push_str(line);
            changed.push('\n');
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_of_this_release_lose_their_registry() {
        let package =
            |name: &str, rest: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"0.1.0\"\n{rest}\n");
        let registry = "source = \"registry\"\nchecksum = \"aa\"\n";
        let lock =
            package("anyhow", registry) + &package("vestibule", registry) + &package("zeroize", registry);
        let expected =
            package("anyhow", registry) + &package("vestibule", "") + &package("zeroize", registry);
        assert_eq!(of_folders(&lock, &["vestibule", "vestibule-patch"]), expected);
    }
}
