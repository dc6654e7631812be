//! The packages as their users have them: the binary installed from them, and their tests built and run.
//!
//! They are unpacked outside the checkout, so that no file and no setting of it is found. The packages of this release are not on
//! crates.io yet; the unpacked ones take their places.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::manifest::Manifest;
use crate::binary::PACKAGE;
use crate::cargo;

/// Variables of `.cargo/config.toml`, which cargo sets for this program too.
const SETTINGS: [&str; 2] = ["K8S_OPENAPI_ENABLED_VERSION", "JEMALLOC_SYS_WITH_MALLOC_CONF"];

/// The unpacked packages.
struct Unpacked<'m> {
    manifests: &'m [Manifest],
    folder: PathBuf,
    /// The folder for builds, kept for the next run.
    target: PathBuf,
}

/// Unpacks the packages in `packages`, installs the binary and runs it, then the tests of each package.
pub(super) fn run(manifests: &[Manifest], packages: &Path, target: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for manifest in manifests {
        let package = packages.join(manifest.file());
        let file = File::open(&package).with_context(|| format!("cannot open {}", package.display()))?;
        tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(folder.path())?;
    }
    let unpacked = Unpacked { manifests, folder: folder.path().canonicalize()?, target: target.to_owned() };
    unpacked.lock()?;
    unpacked.install()?;
    let failed: Vec<_> = manifests.iter().filter_map(|manifest| unpacked.test(manifest).err()).collect();
    if !failed.is_empty() {
        bail!("{}", failed.iter().map(|error| format!("{error:#}")).collect::<Vec<_>>().join("\n"));
    }
    println!("installed {PACKAGE} from {} packages; the tests of each passed", manifests.len());
    Ok(())
}

impl Unpacked<'_> {
    fn of(&self, manifest: &Manifest) -> PathBuf {
        self.folder.join(format!("{}-{}", manifest.name, manifest.version))
    }

    /// The locked versions hold, so that the network is not needed; the packages of this release are folders there.
    fn lock(&self) -> anyhow::Result<()> {
        let names: Vec<_> = self.manifests.iter().map(|manifest| manifest.name.as_str()).collect();
        for manifest in self.manifests {
            let file = self.of(manifest).join("Cargo.lock");
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            fs::write(&file, of_folders(&text, &names))?;
        }
        Ok(())
    }

    /// `cargo ARGUMENTS` in the folder of a package, with the packages that its lock names from their folders.
    fn cargo(&self, manifest: &Manifest, arguments: &[&str]) -> anyhow::Result<Command> {
        let here = self.of(manifest);
        let locked = fs::read_to_string(here.join("Cargo.lock"))?;
        let mut command = cargo::command(arguments);
        command.args(["--offline", "--locked"]).current_dir(&here).env("CARGO_TARGET_DIR", &self.target);
        // An unused replacement would have to be in the lock.
        let others = self.manifests.iter().filter(|other| other.name != manifest.name);
        for other in others.filter(|other| locked.contains(&format!("\nname = \"{}\"\n", other.name))) {
            // In single quotes a path is taken as it is.
            let replaced = format!("patch.crates-io.{}.path='{}'", other.name, self.of(other).display());
            command.args(["--config", &replaced]);
        }
        // Debug information and incremental builds cost minutes here, and are not used.
        command.envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")]);
        for setting in SETTINGS {
            command.env_remove(setting);
        }
        Ok(command)
    }

    /// As `cargo install vestibule-cli`, without optimisation.
    fn install(&self) -> anyhow::Result<()> {
        let manifest = self.manifests.iter().find(|manifest| manifest.name == PACKAGE);
        let manifest = manifest.with_context(|| format!("there is no package {PACKAGE}"))?;
        let root = self.folder.join("installed");
        let mut command =
            self.cargo(manifest, &["install", "--quiet", "--debug", "--no-track", "--path", "."])?;
        cargo::finish(command.arg("--root").arg(&root))?;
        let binary = root.join("bin").join(format!("vestibule{}", std::env::consts::EXE_SUFFIX));
        let empty = tempfile::tempdir()?;
        for (arguments, words) in [("version", manifest.version.as_str()), ("try", "second pass: no change")]
        {
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

    fn test(&self, manifest: &Manifest) -> anyhow::Result<()> {
        println!("{}: cargo test", manifest.name);
        let mut command = self.cargo(manifest, &["test", "--quiet", "--no-fail-fast"])?;
        // Fewer cases of each property than in the suite, where the crates are optimised.
        cargo::finish(command.env("VESTIBULE_CASES", "100"))
            .with_context(|| format!("the package {}", manifest.name))
    }
}

/// A `Cargo.lock` in which the packages with these `names` come from folders instead of a registry.
fn of_folders(lock: &str, names: &[&str]) -> String {
    let mut is_ours = false;
    let mut kept = String::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            is_ours = names.contains(&name.trim_matches('"'));
        }
        if !is_ours || !(line.starts_with("source = ") || line.starts_with("checksum = ")) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
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

    /// Cargo gives these variables to this program, and would give them to its builds.
    #[test]
    fn no_setting_of_the_checkout_reaches_the_builds() {
        let config = fs::read_to_string(cargo::workspace().join(".cargo/config.toml")).unwrap();
        let (_, variables) = config.split_once("\n[env]\n").unwrap();
        let set: Vec<_> = variables.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        assert_eq!(set, SETTINGS);
    }
}
