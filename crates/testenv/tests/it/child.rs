use std::process::Command;
use std::time::{Duration, Instant};

use vestibule_testenv::{Child, Error, shared_or_skip};

const TICKS: &str = r#"
    trap 'echo "ends for $WHO"; exit 3' TERM
    echo "address 127.0.0.1:8080"
    while :; do echo tick; sleep 0.02; done
"#;

#[tokio::test]
async fn a_child_is_paused_resumed_and_ended_by_signals() {
    let Some(env) = shared_or_skip().await else { return };
    let child = env.spawn("replica", &shell(TICKS)).unwrap();
    let port = child.wait_for_line(|line| line.strip_prefix("address 127.0.0.1:")?.parse::<u16>().ok()).await;
    assert_eq!(port.unwrap(), 8080);
    assert_eq!(child.wait_for_log("tic").await.unwrap(), "tick");

    child.pause().unwrap();
    let silent = final_log(&child).await;
    assert_eq!(child.exited(), None);
    child.resume().unwrap();
    let start = Instant::now();
    while child.log() == silent {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    child.terminate().unwrap();
    assert_eq!(child.wait().await.unwrap(), 3);
    assert!(child.log().ends_with("ends for the test\n"), "{}", child.log());
    let late = child.pause().unwrap_err();
    assert!(late.to_string().ends_with("it has ended with 3"), "{late}");
}

#[tokio::test]
async fn a_paused_child_can_be_killed_and_replaced() {
    let Some(env) = shared_or_skip().await else { return };
    let child = env.spawn("replica", &shell(TICKS)).unwrap();
    child.wait_for_log("tick").await.unwrap();
    child.pause().unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().await.unwrap(), 128 + 9);

    let other = env.spawn("replica", &shell(TICKS)).unwrap();
    other.wait_for_log("tick").await.unwrap();
    assert_ne!(child.log_file(), other.log_file());
    let process = other.log_file().with_extension("exit");
    drop(other);
    let start = Instant::now();
    while !process.exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "it goes on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_error_for_a_child_that_ends_early_contains_its_log() {
    let Some(env) = shared_or_skip().await else { return };
    let missing = env.spawn("missing", &Command::new("no-such-program")).unwrap();
    let Err(error @ Error::Start { .. }) = missing.wait_for_log("anything").await else { panic!("it runs") };
    assert!(error.to_string().contains("no-such-program"), "{error}");
    assert_eq!(missing.wait().await.unwrap(), 127);
}

/// The log of `child`, once it has stopped growing.
async fn final_log(child: &Child) -> String {
    let mut before = child.log();
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = child.log();
        if now == before {
            return now;
        }
        before = now;
    }
    panic!("it is not silent");
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("WHO", "the test");
    command
}
