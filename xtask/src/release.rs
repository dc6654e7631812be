//! `cargo xtask release`: the files of a release, and the commands that publish it.
//!
//! The workflow `release.yml` calls the steps in the order below, and a laptop can run each of them. `check` compares
//! versions, `archive` tries the binary of this machine and packs it, `files` makes what does not depend on a machine, `publish`
//! pushes and signs; with `--dry-run` it prints the commands instead.

mod archive;
mod changelog;
mod check;
mod files;
mod publish;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The name of the image without a tag.
const IMAGE: &str = "ghcr.io/vestibule-dev/vestibule";
/// The folder of charts in the registry.
const CHARTS: &str = "ghcr.io/vestibule-dev/charts";

/// A step of a release.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Clone, Debug, Subcommand)]
enum Step {
    /// Check that crates, chart, manifests and changelog are of one version, and that the tag names it
    Check {
        /// The tag: `v` and the version
        #[arg(long, value_name = "TAG")]
        tag: Option<String>,
    },
    /// Make the archive for this machine's platform, after `smoke` with its binary: binary, completions, manual pages, SBOM, licence
    Archive {
        /// A finished binary instead of a release build
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
        /// A profile by `cargo xtask profile`, as for the image
        #[arg(long, value_name = "FILE", conflicts_with = "binary")]
        profile: Option<PathBuf>,
        /// The folder of the archive
        #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
        output: PathBuf,
    },
    /// Write install.yaml, the chart, the krew manifest, the notes and the checksums beside the archives
    Files {
        /// The image that manifests and chart pin: a folder that `cargo xtask image` wrote
        #[arg(long, value_name = "FOLDER")]
        image: PathBuf,
        /// The folder with the archives
        #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
        output: PathBuf,
    },
    /// Push image and chart, sign them and the checksums, and make the release on GitHub (needs skopeo, helm, cosign, gh)
    Publish {
        /// The joint image: the folder that `cargo xtask image --join` wrote
        #[arg(long, value_name = "FOLDER")]
        image: PathBuf,
        /// The folder with the other files
        #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
        output: PathBuf,
        /// Only print the commands
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs one step.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match &arguments.step {
        Step::Check { tag } => check::run(tag.as_deref()),
        Step::Archive { binary, profile, output } => {
            archive::run(binary.as_deref(), profile.as_deref(), output)
        }
        Step::Files { image, output } => files::run(image, output),
        Step::Publish { image, output, dry_run } => publish::run(image, output, *dry_run),
    }
}
