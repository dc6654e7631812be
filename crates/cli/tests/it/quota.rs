//! The threads of `vestibule serve` under a CPU quota, as a container has one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fire::rig::sum;
use vestibule_testenv::leave_out_part;

use crate::fixture::{Folder, TARGET};
use crate::served::{Server, get, serve};

const PATIENCE: Duration = Duration::from_secs(10);

/// A cgroup that may use one CPU's time.
struct OneCpu(PathBuf);

impl OneCpu {
    /// A cgroup of version 1 or 2. Needs root.
    fn make() -> io::Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let name = format!("vestibule-quota-{}", std::process::id());
        let is_second = fs::read_to_string(root.join("cgroup.subtree_control"));
        let (folder, file, quota) = match is_second {
            Ok(controllers) if controllers.split_whitespace().any(|controller| controller == "cpu") => {
                (root.join(name), "cpu.max", "100000 100000")
            }
            _ => (root.join("cpu").join(name), "cpu.cfs_quota_us", "100000"),
        };
        fs::create_dir(&folder)?;
        let cpu = Self(folder);
        fs::write(cpu.0.join(file), quota)?;
        Ok(cpu)
    }

    /// Runs `command` in the cgroup.
    fn holds(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"echo $$ > "$0/cgroup.procs" && exec "$@""#]).arg(&self.0);
        shell.arg(command.get_program()).args(command.get_args());
        shell.current_dir(command.get_current_dir().unwrap());
        shell
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        // The cgroup is empty shortly after the process has ended.
        let begun = Instant::now();
        while fs::remove_dir(&self.0).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
            && begun.elapsed() < PATIENCE
        {
            std::thread::yield_now();
        }
    }
}

/// The number of threads, and of handlers that run at a time.
fn threads(command: &mut Command) -> [f64; 2] {
    let server = Server::spawn(command);
    let page = get(&server, "/metrics");
    let limit = sum(&page, "vestibule_server_limit", &["what=\"computing\""]);
    [sum(&page, "vestibule_worker_threads", &[]), limit]
}

#[test]
fn threads_are_as_many_as_the_quota_leaves() {
    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    assert_eq!(threads(&mut serve(&folder, "--worker-threads 3")), [3.0, 2.0]);
    let cpus = std::thread::available_parallelism().unwrap().get();
    let one = match OneCpu::make() {
        Ok(one) if cpus > 1 => one,
        Ok(_) => return leave_out_part("there is one CPU here, a quota of one says nothing"),
        Err(error) => return leave_out_part(&format!("no cgroup with a quota can be made here: {error}")),
    };
    assert_eq!(threads(&mut serve(&folder, "")), [cpus as f64, cpus as f64 - 1.0]);
    assert_eq!(threads(&mut one.holds(&serve(&folder, ""))), [1.0, 1.0]);
}
