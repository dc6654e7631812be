//! Child processes that never outlive the test process.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;
use crate::network::Claim;

/// A folder and the processes that work in it. A shell holds them by a pipe from this
/// process: when that closes, by a drop or by a kill, it ends them and removes the folder.
pub(crate) struct Watchdog {
    folder: PathBuf,
    shell: Child,
}

impl Watchdog {
    /// Watches over `folder` from now on. The watchdog keeps `claim` until everything is gone.
    pub(crate) fn over(folder: PathBuf, claim: Claim) -> Result<Self, Error> {
        let shell = Command::new("/bin/sh")
            .args(["-c", include_str!("watchdog.sh"), "watchdog"])
            .arg(&folder)
            // A proxy or a feature gate of this shell would change what the API server does.
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // Ctrl-C goes to the test process, and reaches the others by the pipe.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(claim.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| Error::file("start /bin/sh in", &folder, source))?;
        Ok(Self { folder, shell })
    }

    /// Starts `program` under the name `name`.
    pub(crate) fn start(&mut self, name: &str, program: &Path, flags: &[String]) -> Result<(), Error> {
        let script = self.folder.join(name);
        let command = std::iter::once(program.to_string_lossy().into_owned()).chain(flags.iter().cloned());
        let words: Vec<_> = command.map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        fs::write(&script, format!("exec {}\n", words.join(" ")))
            .and_then(|()| self.shell.stdin.as_mut().map_or(Ok(()), |pipe| writeln!(pipe, "{name}")))
            .map_err(|source| Error::file("start", &script, source))
    }

    /// Whether the program has ended by itself.
    pub(crate) fn ended(&self, name: &str) -> bool {
        self.folder.join(format!("{name}.exit")).exists()
    }

    /// What the program has written so far.
    pub(crate) fn log(&self, name: &str) -> String {
        fs::read(self.folder.join(format!("{name}.log")))
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // It ends by itself now; without waiting it would stay as a zombie.
        let _ = self.shell.wait();
    }
}
