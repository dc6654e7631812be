//! Child processes that never outlive the test process.

mod program;

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

pub(crate) use self::program::Program;
use crate::error::Error;
use crate::network::Claim;

/// A folder and the processes that work in it. A shell starts the processes and reads a pipe from this process. When
/// the pipe closes, by a drop or because this process was killed, the shell kills them and removes the folder.
pub(crate) struct Watchdog {
    folder: PathBuf,
    shell: Child,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Watchdog {
    /// Starts the watchdog of `folder`. It holds `claim` until all processes have ended.
    pub(crate) fn over(folder: PathBuf, claim: Claim) -> Result<Self, Error> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", include_str!("watchdog.sh"), "watchdog"])
            .arg(&folder)
            // Variables such as `HTTPS_PROXY` would change what the API server does.
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // For Go's programs: most tests last a minute, and collecting garbage costs more there than memory.
            .env("GOGC", "400")
            .env("GOMEMLIMIT", "700MiB")
            // Ctrl-C reaches the test process only; the closed pipe ends the others.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(claim.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| Error::file("start /bin/sh in", &folder, source))?;
        let pipe = Mutex::new(shell.stdin.take());
        Ok(Self { folder, shell, pipe })
    }

    /// Starts `program` as `name`, without this process's environment.
    pub(crate) fn start(&self, name: &str, program: &Path, flags: &[String]) -> Result<Program, Error> {
        self.run(name, program::script(program, flags))
    }

    /// Starts `command` as `name`, with this process's environment and the command's own variables.
    pub(crate) fn start_command(&self, name: &str, command: &Command) -> Result<Program, Error> {
        let script =
            program::script_of(command).map_err(|source| Error::file("start", &self.folder, source))?;
        self.run(name, script)
    }

    /// The program of that name, started or not.
    pub(crate) fn program(&self, name: &str) -> Program {
        Program::new(&self.folder, name)
    }

    fn run(&self, name: &str, script: Vec<u8>) -> Result<Program, Error> {
        let path = self.folder.join(name);
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        fs::write(&path, script)
            .and_then(|()| pipe.as_mut().map_or(Ok(()), |pipe| writeln!(pipe, "{name}")))
            .map_err(|source| Error::file("start", &path, source))?;
        Ok(self.program(name))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.pipe.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        // The shell ends by itself now; without the wait it would stay a zombie.
        let _ = self.shell.wait();
    }
}
