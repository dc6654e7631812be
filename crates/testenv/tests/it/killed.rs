use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vestibule_testenv::{Environment, Options, shared_or_skip};

/// Set for the process to be killed, which is this test run by itself.
const VICTIM: &str = "TESTENV_VICTIM";

#[tokio::test]
async fn a_killed_process_leaves_nothing_behind() {
    if std::env::var_os(VICTIM).is_some() {
        let env = Environment::start_with(&Options::default().second_api_server()).await.unwrap();
        // The processes have the folder in their arguments, and write a line when they have started.
        let watched = env.folder().join("tokens.csv");
        let [running, paused] = ["running", "paused"]
            .map(|name| env.spawn(name, Command::new("tail").arg("-f").arg(&watched)).unwrap());
        for child in [&running, &paused] {
            child.wait_for_log("system:masters").await.unwrap();
        }
        paused.pause().unwrap();
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
    let processes = processes_in(&folder);
    for (program, count) in [("etcd", 1), ("kube-apiserver", 2), ("tail", 2)] {
        let found = processes.iter().filter(|process| process.contains(&format!("{program} ")));
        assert_eq!(found.count(), count, "{program}");
    }

    victim.kill().unwrap();
    victim.wait().unwrap();

    let start = Instant::now();
    while folder.exists() || any_process_in(&folder) {
        assert!(start.elapsed() < Duration::from_secs(60), "{} is still there", folder.display());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) fn any_process_in(folder: &Path) -> bool {
    !processes_in(folder).is_empty()
}

/// The commands of all processes that were started with an argument that names `folder`.
fn processes_in(folder: &Path) -> Vec<String> {
    let processes = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output().unwrap().stdout;
    assert!(!processes.is_empty());
    let processes = String::from_utf8_lossy(&processes).into_owned();
    let folder = folder.to_str().unwrap();
    // Without the watchdog and its shells, which name the folder too.
    processes.lines().filter(|process| process.contains(folder)).map(str::to_owned).collect()
}
