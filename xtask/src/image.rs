//! `cargo xtask image`: the container image of `vestibule`, or of any other binary, without Docker and without a daemon.
//!
//! The result is an OCI image layout, as a folder and as a tar that `docker load`, `kind load image-archive` and `ctr images
//! import` read. The same sources, compiler, profile and Debian packages give the same bytes, in any folder and at any time.
//!
//! `compile` builds the binary, `profile` makes the profile that rustc optimizes by, `debian` finds the shared libraries and
//! certificates, `sbom` lists the crates, `root` joins them to two layers, `layout` writes the image, `join` joins two
//! architectures, `trial` runs it under crun or runc.

mod compile;
mod debian;
mod join;
mod layout;
pub(crate) mod profile;
mod root;
mod sbom;
#[cfg(test)]
mod tests;
mod trial;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

pub(crate) use self::compile::{Source, export_revision};
use self::layout::{Image, Labels};
use crate::{cargo, files};

/// The usual file of a profile.
pub(crate) const PROFILE: &str = "target/vestibule.profdata";

/// The largest permitted size of the layers, compressed.
const LARGEST: usize = 20 << 20;

/// The contents of the image, and its place.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// A finished binary for Linux, instead of a release build of `vestibule`; it is the entrypoint
    #[arg(long, value_name = "FILE", conflicts_with = "check_reproducible")]
    binary: Option<PathBuf>,
    /// The package whose dependencies the SBOM lists
    #[arg(long, default_value = "vestibule-cli")]
    package: String,
    /// The image's name without a tag
    #[arg(long, default_value = "ghcr.io/vestibule-dev/vestibule")]
    name: String,
    /// The image's tag [default: the version of the package]
    #[arg(long)]
    tag: Option<String>,
    /// A profile by `cargo xtask profile` on a machine of this architecture
    #[arg(long, value_name = "FILE", conflicts_with = "binary")]
    profile: Option<PathBuf>,
    /// The architecture
    #[arg(long, default_value = "amd64")]
    arch: Architecture,
    /// The place of the image: the folder `image`; `image.tar`, `image.cdx.json` and `digest` beside it [default: target/image/ARCH]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Also write the root file system into this folder
    #[arg(long, value_name = "FOLDER")]
    unpack: Option<PathBuf>,
    /// Build the committed sources in two other folders, and refuse the image if the digests differ: two release builds, half an hour
    #[arg(long)]
    check_reproducible: bool,
    /// Instead, join finished images of several architectures to one in `--output`: the folders that hold them
    #[arg(long, value_name = "FOLDER", num_args = 2.., requires = "output", conflicts_with_all = ["binary", "check_reproducible", "profile", "trial"])]
    join: Vec<PathBuf>,
    /// Then run the image under crun or runc: read-only, without rights, with 128 MiB, called by a real API server
    #[arg(long = "try")]
    trial: bool,
}

/// An architecture by its name in OCI images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Architecture {
    Amd64,
    Arm64,
}

/// Makes the image.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if !arguments.join.is_empty() {
        let output = arguments.output.as_deref().context("--join needs --output")?;
        let digest = join::run(&arguments.join, output)?;
        println!("{digest}\n  folder  {}", output.join("image").display());
        return files::write(&output.join("digest"), &digest);
    }
    let source = Source::here()?;
    let (image, bill) = if arguments.check_reproducible {
        build_twice(&source, arguments)?
    } else {
        build(&source, arguments)?
    };
    let size = image.compressed;
    let usual = || source.folder.join("target/image").join(arguments.arch.name());
    let folder = arguments.output.clone().unwrap_or_else(usual);
    image.write(&folder)?;
    files::write(&folder.join("digest"), &image.digest)?;
    files::write(&folder.join("image.cdx.json"), &bill)?;
    println!(
        "{}\n  digest  {}\n  layers  {:.1} MB compressed, {:.1} MB unpacked\n  folder  {}\n  tar     {}",
        image.reference(),
        image.digest,
        size as f64 / 1e6,
        image.unpacked as f64 / 1e6,
        folder.join("image").display(),
        folder.join("image.tar").display(),
    );
    if size > LARGEST {
        bail!("the layers have {size} bytes; at most {LARGEST} are permitted");
    }
    if let Some(folder) = &arguments.unpack {
        image.unpack(folder)?;
    }
    if arguments.trial { trial::run(&image) } else { Ok(()) }
}

/// A list of the crates that are linked into the binary of `package`, for an archive without Debian's files.
pub(crate) fn bill(source: &Source, package: &str) -> anyhow::Result<String> {
    let version = sbom::version(source, package)?;
    sbom::document(
        source,
        package,
        &sbom::About { title: "vestibule", version: &version, created: &source.time()? },
        &[],
    )
}

/// The binary of the image for this machine's architecture.
pub(crate) fn release_here(source: &Source, profile: Option<&Path>) -> anyhow::Result<PathBuf> {
    compile::release(source, Architecture::here(), profile)
}

/// The image and its SBOM.
fn build(source: &Source, arguments: &Arguments) -> anyhow::Result<(Image, String)> {
    let binary = match &arguments.binary {
        Some(file) => file.clone(),
        None => compile::release(source, arguments.arch, arguments.profile.as_deref())?,
    };
    let name = binary.file_name().and_then(|name| name.to_str()).context("the binary has no name")?;
    let bytes = files::read_bytes(&binary)?;
    compile::check_architecture(&bytes, arguments.arch)?;
    let base = debian::files(&binary, arguments.arch)?;
    let version = sbom::version(source, &arguments.package)?;
    let labels = Labels {
        name: arguments.name.clone(),
        tag: arguments.tag.clone().unwrap_or_else(|| version.clone()),
        title: name.to_owned(),
        version,
        revision: source.revision.clone(),
        created: source.time()?,
    };
    let about = sbom::About { title: name, version: &labels.version, created: &labels.created };
    let bill = sbom::document(source, &arguments.package, &about, &base.packages)?;
    let licence = files::read_bytes(&source.folder.join("LICENSE"))?;
    let base = root::base(base)?;
    let program = root::program(name, bytes, bill.clone(), licence);
    Ok((Image::new(labels, arguments.arch, &[base, program])?, bill))
}

/// Builds the committed sources in two folders of different length, and compares the images.
fn build_twice(here: &Source, arguments: &Arguments) -> anyhow::Result<(Image, String)> {
    let folders = tempfile::tempdir()?;
    let build = |name| {
        let source = here.export(&folders.path().join(name))?;
        let (image, bill) = build(&source, arguments)?;
        println!("{}  {}", image.digest, source.folder.display());
        anyhow::Ok((image, bill))
    };
    let (first, second) = (build("a")?, build("another-folder-with-a-longer-name")?);
    if first.0.digest != second.0.digest {
        bail!("the two images differ: the build puts a path, a time or an order of files into the binary");
    }
    println!("both folders give the same image");
    Ok(second)
}

impl Architecture {
    /// The architecture of this machine.
    fn here() -> Self {
        if cfg!(target_arch = "aarch64") { Self::Arm64 } else { Self::Amd64 }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The target of rustc.
    fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Whether this machine runs its binaries, and its usual C compiler makes them.
    fn is_native(self) -> bool {
        self == Self::here()
    }

    /// The C compiler of another machine's Debian for this architecture.
    fn c_compiler(self) -> String {
        format!("{}-gcc", self.debian())
    }

    /// The folder of this architecture's shared libraries in Debian.
    fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
        }
    }
}

/// The folder of the workspace, without links or `..`.
fn workspace() -> anyhow::Result<PathBuf> {
    // On Windows `canonicalize` gives a path that git does not take.
    match Path::new(env!("CARGO_MANIFEST_DIR")).parent() {
        Some(folder) if cfg!(windows) => Ok(folder.to_owned()),
        _ => Ok(cargo::workspace().canonicalize()?),
    }
}
