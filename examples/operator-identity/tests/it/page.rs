//! The commands of `README.md`, on a real API server.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use vestibule_testenv::{Options, leave_out, start_or_skip, tools_or_skip};

const PAGE: &str = include_str!("../../README.md");
/// The laptop's address on the page. The test uses another one, which it shares with no other test.
const LISTEN: &str = "127.0.0.1:10250";

#[tokio::test]
async fn the_commands_of_the_page_work_on_a_cluster() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_operator-identity"));
    let path = [program.parent().unwrap(), tools.kubectl.parent().unwrap()].map(Path::display);
    let path = format!("{}:{}:{}", path[0], path[1], std::env::var("PATH").unwrap());
    let shell = |script: &str| {
        let mut shell = environment.command(Path::new("sh"));
        shell
            .args(["-c", &format!("exec 2>&1\n{script}")])
            .env("PATH", &path)
            .current_dir(environment.folder());
        shell
    };
    let run = |script: &str| {
        let done = shell(script).output().unwrap();
        (done.status.success(), String::from_utf8(done.stdout).unwrap())
    };
    let blocks = |info: &str| -> Vec<_> {
        let opening = format!("```{info}\n");
        PAGE.split(&opening).skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
    };

    fs::write(environment.folder().join("deployment.yaml"), &blocks("yaml deployment.yaml")[0]).unwrap();
    let [install, laptop] = blocks("sh").try_into().unwrap();
    let (is_installed, printed) = run(&format!("set -e\n{install}"));
    assert!(is_installed, "{printed}");
    let replicas = run("kubectl get deployment widgets --namespace demo -o jsonpath='{.spec.replicas}'");
    assert_eq!(replicas, (true, "2".to_owned()));

    if !run("curl --version").0 {
        return leave_out("there is no `curl` in PATH");
    }
    let host = environment.url().strip_prefix("https://").unwrap().split(':').next().unwrap();
    let laptop = laptop.replace(LISTEN, &format!("{host}:10250"));
    let (start, look) = laptop.split_once('\n').unwrap();
    let operator = environment.spawn("operator", &shell(&format!("exec {start}"))).unwrap();
    // The CA has to be known for half a minute before the first certificate is presented.
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let (succeeds, printed) = run(&format!("set -e\n{look}"));
        if succeeds && printed.contains("ok") && printed.contains("LS0tLS1CRUdJTi") {
            break;
        }
        assert!(Instant::now() < end, "{printed}\n{}", operator.log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
