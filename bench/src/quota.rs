//! A control group with a quota of processor time: 100m as a container's limit, of cgroup v2, or v1 where the controller is there.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

/// A container's limit of 100m: 10 ms of each 100 ms, in microseconds.
const QUOTA: u64 = 10_000;
const PERIOD: u64 = 100_000;
/// The folder in which hybrid systems have the controllers of version 1.
const FIRST: &str = "/sys/fs/cgroup/cpu";
const SECOND: &str = "/sys/fs/cgroup";

/// The group, which is removed on drop.
pub(crate) struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// Makes the group. It fails where this process may not.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let name = format!("vestibule-bench-{}", std::process::id());
        let controllers = fs::read_to_string(format!("{SECOND}/cgroup.controllers")).unwrap_or_default();
        let (root, files) = if controllers.split_whitespace().any(|controller| controller == "cpu") {
            (SECOND, vec![("cpu.max", format!("{QUOTA} {PERIOD}"))])
        } else {
            (FIRST, vec![("cpu.cfs_period_us", PERIOD.to_string()), ("cpu.cfs_quota_us", QUOTA.to_string())])
        };
        let group = Self { folder: PathBuf::from(root).join(name) };
        fs::create_dir(&group.folder)
            .with_context(|| format!("cannot make the control group {}", group.folder.display()))?;
        for (name, value) in files {
            let file = group.folder.join(name);
            fs::write(&file, value).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(group)
    }

    /// Moves a process into the group.
    pub(crate) fn take(&self, process: u32) -> anyhow::Result<()> {
        let file = self.folder.join("cgroup.procs");
        fs::write(&file, process.to_string()).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Periods so far, and periods in which the process had to wait.
    pub(crate) fn periods(&self) -> anyhow::Result<(u64, u64)> {
        let file = self.folder.join("cpu.stat");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let read = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        match (read("nr_periods"), read("nr_throttled")) {
            (Some(periods), Some(throttled)) => Ok((periods, throttled)),
            _ => bail!("{} has no periods", file.display()),
        }
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A process in it may still be ending.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
