//! A build of the binary `vestibule`, for the tasks that run or pack it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::binary::PACKAGE;
use crate::cargo;
use crate::image::{self, Source};
use crate::metadata::Metadata;

/// How the binary is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build<'p> {
    /// For tests of this checkout.
    Debug,
    /// The binary that a release ships: on Linux that of the image, by this profile; elsewhere a plain release build.
    Release(Option<&'p Path>),
}

/// The finished binary `given`, or a build of this checkout.
pub(crate) fn find(given: Option<&Path>, build: Build<'_>) -> anyhow::Result<PathBuf> {
    if let Some(file) = given {
        return file.canonicalize().with_context(|| format!("there is no {}", file.display()));
    }
    if let Build::Release(profile) = build {
        if cfg!(target_os = "linux") {
            return image::release_here(&Source::here()?, profile);
        }
        if profile.is_some() {
            bail!("a release build uses a profile on Linux only");
        }
    }
    let (folder, flag): (_, &[_]) = match build {
        Build::Debug => ("debug", &[]),
        Build::Release(_) => ("release", &["--release"]),
    };
    cargo::run(&[&["build", "--locked", "--package", PACKAGE], flag].concat())?;
    let folder = Metadata::of_workspace()?.target_directory.join(folder);
    Ok(folder.join(format!("vestibule{}", std::env::consts::EXE_SUFFIX)))
}
