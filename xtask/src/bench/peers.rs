//! The peers in Go: each folder of `bench/peers` is a module of its own.

use std::path::Path;
use std::process::Command;

use crate::{cargo, files};

/// Builds every module into `folder`. A peer that cannot be built is named, and the bench leaves it out.
pub(crate) fn build(folder: &Path) -> anyhow::Result<()> {
    let modules = files::list(&cargo::workspace().join("bench/peers"))?;
    for module in modules.iter().filter(|module| module.join("go.mod").exists()) {
        let name = files::name(module);
        let mut command = Command::new("go");
        command.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"]);
        command.arg(folder.join(format!("bench-{name}"))).arg(".").current_dir(module);
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(_) => println!("left out: {name}, which Go could not build (see above)"),
            Err(error) => println!("left out: {name}, because there is no Go here ({error})"),
        }
    }
    Ok(())
}
