//! Profile-guided optimization: the counts of calls by which rustc inlines and orders the functions of a release build.
//!
//! A build with counters serves recorded reviews and writes its counts. The symbols of the next build are the same, so its functions
//! find their counts. Two profiles differ in some counts, and so do the binaries that are built with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::compile::{self, Source};
use crate::{cargo, files};

/// Makes a profile of the binary for this machine's architecture, and writes it to `output`: a release build and a minute.
pub(crate) fn make(source: &Source, output: &Path) -> anyhow::Result<()> {
    let merge = llvm_profdata()?;
    let counts = source.folder.join("target/profile/counts");
    if counts.exists() {
        fs::remove_dir_all(&counts)?;
    }
    let binary = compile::with_counters(source, &counts)?;
    let folder = binary.parent().context("the folder of the binary")?;
    let mut training =
        cargo::command(&["run", "--quiet", "--locked", "--package", "bench", "--bin", "bench"]);
    training.args(["--", "--train", "--bin-dir"]).arg(folder).current_dir(&source.folder);
    cargo::finish(training.env_remove("LLVM_PROFILE_FILE"))?;
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder)?;
    }
    // Without `--sparse`, which leaves functions with no call out: with a count of 0 they are built for size and placed apart.
    let mut command = Command::new(merge);
    command
        .args(["merge", "--output"])
        .arg(output)
        .args(files::list(&counts).context("the build with counters wrote no counts")?);
    cargo::finish(&mut command)
}

/// The program that merges counts, in the version of rustc's LLVM.
fn llvm_profdata() -> anyhow::Result<PathBuf> {
    let libraries = cargo::output(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let program = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata");
    match program.is_file() {
        true => Ok(program),
        false => bail!("there is no {}; `rustup component add llvm-tools` installs it", program.display()),
    }
}
