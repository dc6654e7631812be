//! Replicas as processes of their own.

use std::path::PathBuf;
use std::process::Command;

use crate::log::tail;
use crate::watchdog::Program;
use crate::{Environment, Error};

/// A program that a test lets run, hang and die. It never outlives the environment or the test process.
///
/// It is killed when this is dropped.
pub struct Child {
    program: Program,
}

impl Environment {
    /// Starts `command` with its arguments, environment (the test's own too) and folder;
    /// its standard input is empty, and what it writes is [`Child::log`]. `name` is for
    /// the person who reads about it; several may have the same.
    ///
    /// ```no_run
    /// # use std::process::Command;
    /// # async fn a_test(env: &vestibule_testenv::Environment) -> Result<(), vestibule_testenv::Error> {
    /// let replica = env.spawn("replica", Command::new("my-webhook").arg("--listen=127.0.0.1:0"))?;
    /// let address = replica.wait_for_line(|line| line.strip_prefix("listening on ")?.parse().ok()).await?;
    /// env.service("default", "webhook").await?.add_replica(address, None)?;
    /// replica.pause()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] when the environment can start nothing. A program that is not there
    /// is one that has [exited](Child::exited).
    pub fn spawn(&self, name: &str, command: &Command) -> Result<Child, Error> {
        let name = format!("{name}-{}", self.number());
        Ok(Child { program: self.watchdog.start_command(&name, command)? })
    }
}

impl Child {
    /// Stops it (SIGSTOP): its connections stay open, and nobody answers.
    ///
    /// # Errors
    /// [`Error::Child`] when there is no such process any longer.
    pub fn pause(&self) -> Result<(), Error> {
        self.signal("STOP")
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// As [`Child::pause`].
    pub fn resume(&self) -> Result<(), Error> {
        self.signal("CONT")
    }

    /// Asks it to end (SIGTERM), as the kubelet does.
    ///
    /// # Errors
    /// As [`Child::pause`].
    pub fn terminate(&self) -> Result<(), Error> {
        self.signal("TERM")
    }

    /// Ends it (SIGKILL), also while it is paused.
    ///
    /// # Errors
    /// As [`Child::pause`].
    pub fn kill(&self) -> Result<(), Error> {
        self.signal("KILL")
    }

    /// The status with which it has ended, as a shell tells it: 137 is SIGKILL's. None while it runs.
    pub fn exited(&self) -> Option<i32> {
        self.program.exited()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// [`Error::Late`] after two minutes, more than a drain takes.
    pub async fn wait(&self) -> Result<i32, Error> {
        const SECONDS: u64 = 120;
        let what = format!("the end of {}", self.program.name());
        crate::poll::retry(&what, SECONDS, async || Ok(self.exited())).await
    }

    /// What it has written so far, to standard output and to standard error.
    pub fn log(&self) -> String {
        self.program.log()
    }

    /// The file with its log.
    pub fn log_file(&self) -> PathBuf {
        self.program.log_file()
    }

    /// Waits until it has written a line that contains `text`, and returns that line.
    ///
    /// # Errors
    /// As [`Child::wait_for_line`].
    pub async fn wait_for_log(&self, text: &str) -> Result<String, Error> {
        self.wait_for(&format!("writing {text:?}"), |line| line.contains(text).then(|| line.to_owned())).await
    }

    /// Waits until it has written a line in which `find` finds something: an address, for instance.
    ///
    /// # Errors
    /// [`Error::Start`] with the end of its log, when it ends before, or has not done so after a minute.
    pub async fn wait_for_line<T>(&self, find: impl FnMut(&str) -> Option<T>) -> Result<T, Error> {
        self.wait_for("writing the line that is waited for", find).await
    }

    async fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&str) -> Option<T>) -> Result<T, Error> {
        const SECONDS: u64 = 60;
        let what = format!("{} {what}", self.program.name());
        let found = crate::poll::retry(&what, SECONDS, async || {
            // In this order: what it writes last is read too.
            let exited = self.exited();
            let log = self.log();
            match (whole_lines(&log).find_map(&mut find), exited) {
                (None, Some(status)) => {
                    Err(self.failed(format!("{} ended with {status}", self.program.name())))
                }
                (found, _) => Ok(found),
            }
        });
        found.await.map_err(|error| match error {
            late @ Error::Late { .. } => self.failed(late.to_string()),
            other => other,
        })
    }

    fn failed(&self, what: String) -> Error {
        Error::Start { what, log: tail(&self.log()) }
    }

    fn signal(&self, signal: &str) -> Result<(), Error> {
        self.program.signal(signal)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exited().is_none() {
            // Gone already, or the environment is, which has ended it.
            let _ = self.kill();
        }
    }
}

/// The lines that are complete: the rest may be half an address.
fn whole_lines(log: &str) -> impl Iterator<Item = &str> {
    log.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}
