//! A program that the watchdog runs. Its state is in the files that the watchdog writes: log, pid, exit status.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use crate::error::Error;

pub(crate) struct Program {
    folder: PathBuf,
    pub(crate) name: String,
}

impl Program {
    pub(super) fn new(folder: &Path, name: &str) -> Self {
        Self { folder: folder.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn log_file(&self) -> PathBuf {
        self.file("log")
    }

    /// The output so far.
    pub(crate) fn log(&self) -> String {
        fs::read(self.log_file()).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }

    /// The exit status, once the program has ended.
    pub(crate) fn exited(&self) -> Option<i32> {
        fs::read_to_string(self.file("exit")).ok()?.trim().parse().ok()
    }

    /// Sends the signal called `signal` (`KILL`).
    pub(crate) fn signal(&self, signal: &str) -> Result<(), Error> {
        let failed =
            |reason: String| Error::Child { name: self.name.clone(), signal: signal.to_owned(), reason };
        if let Some(status) = self.exited() {
            return Err(failed(format!("it has ended with {status}")));
        }
        let process = self.process().ok_or_else(|| failed("it was not started".to_owned()))?;
        // The shell's builtin `kill`: the program is not installed everywhere.
        let sent = Command::new("/bin/sh")
            .args(["-c", r#"kill -s "$1" "$2""#, "kill", signal, &process])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if sent.status.success() {
            Ok(())
        } else {
            Err(failed(String::from_utf8_lossy(&sent.stderr).trim().to_owned()))
        }
    }

    /// The process ID; the watchdog writes it a moment after the start.
    fn process(&self) -> Option<String> {
        const TIMEOUT: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_millis(2);
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            let pid = fs::read_to_string(self.file("pid")).ok();
            if let Some(pid) = pid.filter(|pid| pid.ends_with('\n')) {
                return Some(pid.trim().to_owned());
            }
            thread::sleep(PAUSE);
        }
        None
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}

/// The script by which a shell becomes `program`.
pub(super) fn script(program: &Path, flags: &[String]) -> Vec<u8> {
    let words = std::iter::once(program.as_os_str()).chain(flags.iter().map(OsStr::new));
    line("exec", words)
}

/// The script by which a shell becomes the process of `command`.
pub(super) fn script_of(command: &Command) -> io::Result<Vec<u8>> {
    let folder = match command.get_current_dir() {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::current_dir()?,
    };
    let program = Path::new(command.get_program());
    // A name without a folder is looked up in PATH.
    let found =
        if program.components().count() > 1 { std::path::absolute(program)? } else { program.to_owned() };
    let variables = variables(command);
    let words =
        variables.iter().map(OsString::as_os_str).chain([found.as_os_str()]).chain(command.get_args());
    Ok([line("cd", [folder.as_os_str()]), line("exec env -i", words)].concat())
}

/// The environment as `NAME=VALUE`: this process's, with the command's changes.
fn variables(command: &Command) -> Vec<OsString> {
    let inherited =
        std::env::vars_os().filter(|(name, _)| command.get_envs().all(|(other, _)| other != name));
    let added = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    inherited
        .chain(added)
        .map(|(mut variable, value)| {
            variable.push("=");
            variable.push(value);
            variable
        })
        .collect()
}

fn line<'a>(command: &str, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<u8> {
    let mut line = command.as_bytes().to_vec();
    for word in words {
        line.extend_from_slice(b" '");
        for &byte in word.as_bytes() {
            match byte {
                b'\'' => line.extend_from_slice(br"'\''"),
                other => line.push(other),
            }
        }
        line.push(b'\'');
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_runs_a_command_as_the_standard_library_does() {
        let mut command = Command::new("/bin/sh");
        command.args([
            "-c",
            r#"pwd; printf '%s|' "$1" "$GIVEN" "${HOME-none}""#,
            "sh",
            "it's $HOME `pwd`\n\\",
        ]);
        command.env("GIVEN", "a 'b' \"c\"").env_remove("HOME").current_dir("/");
        let script = script_of(&command).unwrap();
        let through_the_shell =
            Command::new("/bin/sh").arg("-c").arg(OsStr::from_bytes(&script)).output().unwrap();
        assert_eq!(through_the_shell, command.output().unwrap());
        assert!(through_the_shell.status.success());
        assert!(String::from_utf8(through_the_shell.stdout).unwrap().ends_with("|a 'b' \"c\"|none|"));
    }
}
