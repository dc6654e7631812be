use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vestibule_testenv::{Environment, shared_or_skip};

/// Set for the process that is to be killed: this test, run by itself.
const VICTIM: &str = "TESTENV_VICTIM";

#[tokio::test]
async fn a_killed_process_leaves_nothing_behind() {
    if std::env::var_os(VICTIM).is_some() {
        let env = Environment::start().await.unwrap();
        println!("\nfolder {}", env.folder().display());
        std::future::pending::<()>().await;
    }
    if shared_or_skip().await.is_none() {
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::a_killed_process_leaves_nothing_behind", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
    let folder = lines.find_map(|line| line.strip_prefix("folder ").map(PathBuf::from)).unwrap();
    assert!(folder.exists() && any_process_in(&folder));

    victim.kill().unwrap();
    victim.wait().unwrap();

    let start = Instant::now();
    while folder.exists() || any_process_in(&folder) {
        assert!(start.elapsed() < Duration::from_secs(20), "{} is still there", folder.display());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Whether any process was started with a flag that names `folder`.
pub(crate) fn any_process_in(folder: &Path) -> bool {
    let processes = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output().unwrap().stdout;
    assert!(!processes.is_empty());
    String::from_utf8_lossy(&processes).contains(folder.to_str().unwrap())
}
