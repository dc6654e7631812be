//! Builds the binary so that its bytes depend on the sources, the compiler and the profile alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::Architecture;
use crate::{cargo, cross, files, tarball};

/// The sources of a build.
pub(crate) struct Source {
    pub(super) folder: PathBuf,
    /// The commit, with `-modified` if files differ from it.
    pub(super) revision: String,
    /// The time of the commit in seconds since 1970, or `SOURCE_DATE_EPOCH`.
    epoch: i64,
}

impl Source {
    /// This checkout.
    pub(crate) fn here() -> anyhow::Result<Self> {
        let folder = super::workspace()?;
        let git =
            |arguments: &[&str]| cargo::output(Command::new("git").args(arguments).current_dir(&folder));
        let mut revision = git(&["rev-parse", "HEAD"])?.trim().to_owned();
        if !git(&["status", "--porcelain"])?.trim().is_empty() {
            revision.push_str("-modified");
        }
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(seconds) => seconds,
            Err(_) => git(&["log", "-1", "--format=%ct"])?,
        };
        let epoch = epoch.trim().parse().context("SOURCE_DATE_EPOCH is not a number of seconds")?;
        Ok(Self { folder, revision, epoch })
    }

    /// The committed files of this checkout in another folder.
    pub(super) fn export(&self, folder: &Path) -> anyhow::Result<Self> {
        export_revision(&self.folder, "HEAD", folder)?;
        let revision = self.revision.trim_end_matches("-modified").to_owned();
        Ok(Self { folder: folder.canonicalize()?, revision, epoch: self.epoch })
    }

    /// The time of the sources, as in RFC 3339.
    pub(super) fn time(&self) -> anyhow::Result<String> {
        Ok(jiff::Timestamp::from_second(self.epoch)?.to_string())
    }
}

/// The files of a revision of the repository `source` in another folder.
pub(crate) fn export_revision(source: &Path, revision: &str, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let archive = folder.with_extension("tar");
    let mut git = Command::new("git");
    cargo::finish(git.args(["archive", "--output"]).arg(&archive).arg(revision).current_dir(source))?;
    tar::Archive::new(fs::File::open(&archive)?).unpack(folder)?;
    Ok(fs::remove_file(&archive)?)
}

/// A release build of `vestibule` for this architecture, optimized by a profile if there is one. Returns its path.
pub(super) fn release(
    source: &Source,
    arch: Architecture,
    profile: Option<&Path>,
) -> anyhow::Result<PathBuf> {
    let Some(profile) = profile else { return build(source, arch, "target/image", None) };
    // Cargo builds again when a flag changes, and does not see another content of the same file.
    let counts = files::read_bytes(profile)?;
    let folder = source.folder.join("target/profile");
    fs::create_dir_all(&folder)?;
    let copy = folder.join(format!("{}.profdata", tarball::sha256(&counts)));
    files::write(&copy, counts)?;
    build(source, arch, "target/image", Some(format!("-Cprofile-use={}", copy.display())))
}

/// A release build for this machine that writes counts into the folder `counts` when it ends. Returns its path.
pub(super) fn with_counters(source: &Source, counts: &Path) -> anyhow::Result<PathBuf> {
    let flag = format!("-Cprofile-generate={}", counts.display());
    build(source, Architecture::here(), "target/profile", Some(flag))
}

fn build(source: &Source, arch: Architecture, target: &str, flag: Option<String>) -> anyhow::Result<PathBuf> {
    check_toolchain(arch)?;
    let target = source.folder.join(target);
    let home = cargo_home()?;
    // The folders of the checkout and of the crates would otherwise be in panic messages and assertions.
    let places = [(source.folder.as_path(), "/source"), (home.as_path(), "/cargo")];
    let remapped = |flag: &str| places.map(|(from, to)| format!("{flag}={}={to}", from.display()));
    let flags: Vec<_> = remapped("--remap-path-prefix").into_iter().chain(flag).collect();
    let mut command = cargo::command(&["build", "--release", "--locked", "--package", "vestibule-cli"]);
    command.args(["--target", arch.target(), "--target-dir"]).arg(&target).current_dir(&source.folder);
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    command.env("CFLAGS", remapped("-ffile-prefix-map").join(" "));
    command.env("SOURCE_DATE_EPOCH", source.epoch.to_string());
    command.env_remove("CARGO_TARGET_DIR");
    if !arch.is_native() {
        let variable = arch.target().to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), arch.c_compiler());
    }
    if arch == Architecture::Arm64 {
        // Kernels for ARM have pages of 4, 16 or 64 KiB; jemalloc does not start on larger pages than it was built for.
        command.env("JEMALLOC_SYS_WITH_LG_PAGE", "16");
    }
    cargo::finish(&mut command)?;
    Ok(target.join(arch.target()).join("release/vestibule"))
}

/// Whether the ELF header of `binary` names this architecture. A dynamic or static binary for Linux passes.
pub(super) fn check_architecture(binary: &[u8], arch: Architecture) -> anyhow::Result<()> {
    let machine = match arch {
        Architecture::Amd64 => 62_u16,
        Architecture::Arm64 => 183,
    };
    let is_elf = binary.starts_with(b"\x7fELF");
    match binary.get(18..20) {
        Some(&[low, high]) if is_elf && u16::from_le_bytes([low, high]) == machine => Ok(()),
        _ => bail!("the binary is not an ELF file for linux/{}", arch.name()),
    }
}

fn check_toolchain(arch: Architecture) -> anyhow::Result<()> {
    if !cross::is_installed(arch.target())? {
        bail!(
            "rustc has no standard library for {0}; `rustup target add {0}` installs it, and a C compiler for that target is \
             needed too",
            arch.target()
        );
    }
    let compiler = arch.c_compiler();
    if !arch.is_native() && !cargo::is_installed(&compiler) {
        bail!(
            "there is no {compiler}, the C compiler for linux/{}; `apt-get install gcc-{}` brings it",
            arch.name(),
            arch.debian().replace('_', "-")
        );
    }
    Ok(())
}

fn cargo_home() -> anyhow::Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    home.or_else(usual).context("neither CARGO_HOME nor HOME is set")
}
