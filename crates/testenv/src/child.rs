//! Child processes of a test: replicas that it can stop, signal and kill.

use std::path::PathBuf;
use std::process::Command;

use crate::environment::Environment;
use crate::error::Error;
use crate::log_tail::tail;
use crate::watchdog::Program;

/// A child process that a test can pause, signal and kill.
///
/// It is killed when this is dropped, and never outlives the environment or the test process.
pub struct Child {
    program: Program,
}

impl Environment {
    /// Starts `command` with its arguments, its working directory, and the environment of the test
    /// process with the command's own variables. Standard input is empty; both outputs go to
    /// [`Child::log`]. `name` appears in messages, and several children may have the same name.
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
    /// [`Error::File`] when the watchdog cannot be reached. If the program does not exist,
    /// the child has [exited](Child::exited) with 127.
    pub fn spawn(&self, name: &str, command: &Command) -> Result<Child, Error> {
        let name = format!("{name}-{}", self.next_number());
        Ok(Child { program: self.watchdog.start_command(&name, command)? })
    }
}

impl Child {
    /// Stops the process (SIGSTOP): its connections stay open and get no answers.
    ///
    /// # Errors
    /// [`Error::Child`] when the process has ended.
    pub fn pause(&self) -> Result<(), Error> {
        self.program.signal("STOP")
    }

    /// Continues the process (SIGCONT).
    ///
    /// # Errors
    /// As [`Child::pause`].
    pub fn resume(&self) -> Result<(), Error> {
        self.program.signal("CONT")
    }

    /// Asks the process to end (SIGTERM), as the kubelet does.
    ///
    /// # Errors
    /// As [`Child::pause`].
    pub fn terminate(&self) -> Result<(), Error> {
        self.program.signal("TERM")
    }

    /// Ends the process (SIGKILL), also while it is paused.
    ///
    /// # Errors
    /// As [`Child::pause`].
    pub fn kill(&self) -> Result<(), Error> {
        self.program.signal("KILL")
    }

    /// The exit status as a shell reports it: 137 after SIGKILL. `None` while the process runs.
    pub fn exited(&self) -> Option<i32> {
        self.program.exited()
    }

    /// Waits until the process has ended, and returns its exit status.
    ///
    /// # Errors
    /// [`Error::Late`] after two minutes; a drain is shorter.
    pub async fn wait(&self) -> Result<i32, Error> {
        const SECONDS: u64 = 120;
        let what = format!("the end of {}", self.program.name);
        crate::poll::retry(&what, SECONDS, async || Ok(self.exited())).await
    }

    /// The standard output and standard error of the process so far.
    pub fn log(&self) -> String {
        self.program.log()
    }

    /// The file that holds the log.
    pub fn log_file(&self) -> PathBuf {
        self.program.log_file()
    }

    /// Waits until the log has a line that contains `text`, and returns that line.
    ///
    /// # Errors
    /// As [`Child::wait_for_line`].
    pub async fn wait_for_log(&self, text: &str) -> Result<String, Error> {
        self.wait_for(&format!("writing {text:?}"), |line| line.contains(text).then(|| line.to_owned())).await
    }

    /// Waits until `find` returns something for a line of the log: an address, for instance.
    ///
    /// # Errors
    /// [`Error::Start`] with the end of the log, when the process ends before, or after a minute.
    pub async fn wait_for_line<T>(&self, find: impl FnMut(&str) -> Option<T>) -> Result<T, Error> {
        self.wait_for("writing the line that is waited for", find).await
    }

    async fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&str) -> Option<T>) -> Result<T, Error> {
        const SECONDS: u64 = 60;
        let what = format!("{} {what}", self.program.name);
        let found = crate::poll::retry(&what, SECONDS, async || {
            // In this order, so that the last lines of an ended process are read too.
            let exited = self.exited();
            let log = self.log();
            match (whole_lines(&log).find_map(&mut find), exited) {
                (None, Some(status)) => {
                    let what = format!("{} ended with {status}", self.program.name);
                    Err(Error::Start { what, log: tail(&log) })
                }
                (found, _) => Ok(found),
            }
        });
        found.await.map_err(|error| error.with_log(&self.log()))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exited().is_none() {
            // An error means that the process has ended already.
            let _ = self.kill();
        }
    }
}

/// The complete lines: an incomplete one may hold half an address.
fn whole_lines(log: &str) -> impl Iterator<Item = &str> {
    log.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}
