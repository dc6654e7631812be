//! Runs cargo as a child process.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};

/// Variables of `.cargo/config.toml`, which cargo sets for this program too.
const SETTINGS: [&str; 3] =
    ["K8S_OPENAPI_ENABLED_VERSION", "JEMALLOC_SYS_WITH_MALLOC_CONF", "AWS_LC_SYS_NO_JITTER_ENTROPY"];

/// The cargo that runs this xtask.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Lets `command` build as a user does, who has not the settings of this checkout.
pub(crate) fn without_settings(command: &mut Command) {
    for setting in SETTINGS {
        command.env_remove(setting);
    }
}

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of tools that were built here: the same as that of `vestibule-testenv`.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("VESTIBULE_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("vestibule")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/vestibule")))
        .context("no place for a cache: set VESTIBULE_CACHE, XDG_CACHE_HOME or HOME")
}

/// A program of crates.io in the cache. It is built there first with the `options`, once for each version.
pub(crate) fn tool(package: &str, version: &str, options: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = cache()?.join(format!("{package}-{version}"));
    let program = folder.join(format!("bin/{package}{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        println!("building {package} {version}, once");
        let mut install = command(&["install", package, "--version", version, "--locked", "--root"]);
        // Without the settings of this checkout and of its other builds.
        install.arg(&folder).args(options).current_dir(std::env::temp_dir()).env_remove("CARGO_TARGET_DIR");
        finish(&mut install)?;
    }
    Ok(program)
}

/// Runs cargo with its output on the terminal.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    finish(&mut command(arguments))
}

/// Runs `program` with the highest permitted limit of file descriptors, and returns its exit code: it holds thousands of connections.
pub(crate) fn run_with_all_descriptors(program: &Path, arguments: &[String]) -> anyhow::Result<ExitCode> {
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -n "$(ulimit -Hn)"; exec "$0" "$@""#]).arg(program).args(arguments);
    Ok(exit_code(command.status().context("cannot start sh")?.code()))
}

/// A program that a signal ended has no exit code: it failed.
pub(crate) fn exit_code(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Whether `program` can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The standard output of cargo.
pub(crate) fn read(arguments: &[&str]) -> anyhow::Result<String> {
    output(&mut command(arguments))
}

/// The standard output of a command that succeeds; its standard error goes to the terminal.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| starting(command))?;
    if !output.status.success() {
        bail!("{} ended with {}", words(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs `command` to its end; an error unless it succeeds.
pub(crate) fn finish(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| starting(command))?;
    if !status.success() {
        bail!("{} ended with {status}", words(command));
    }
    Ok(())
}

/// The context of an error when the command does not start.
pub(crate) fn starting(command: &Command) -> String {
    format!("cannot start {}", words(command))
}

fn words(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    format!("`{} {}`", program.to_string_lossy(), arguments.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    /// Cargo gives these variables to this program, and would give them to its builds.
    #[test]
    fn no_setting_of_the_checkout_reaches_the_builds() {
        let config = files::read_here(".cargo/config.toml").unwrap();
        let (_, variables) = config.split_once("\n[env]\n").unwrap();
        let set: Vec<_> = variables.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        assert_eq!(set, SETTINGS);
    }
}
