//! The signals that end a server.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use k8s_openapi::api::core::v1::Pod;
use vestibule::Operation::Create;
use vestibule::identity::Local;
use vestibule::{App, Context, FailurePolicy, Options, Reject, on};

const SERVES: &str = "VESTIBULE_TEST_SERVES";
const HELD: Duration = Duration::from_secs(60);

/// Runs itself once more, as the process that is sent the signals.
#[test]
fn a_second_signal_ends_it_though_a_handler_never_awaits() {
    if std::env::var_os(SERVES).is_some() {
        return serve();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "signals::a_second_signal_ends_it_though_a_handler_never_awaits", "--nocapture"])
        .env(SERVES, "")
        .env("RUST_LOG", "info")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut said = |words: &str| assert!(log.any(|line| line.contains(words)), "no line has `{words}`");
    let pid = child.id().to_string();
    let interrupt = || assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());

    said("held");
    let started = Instant::now();
    interrupt();
    said("stopping: SIGINT");
    interrupt();
    said("ending at once");
    assert!(child.wait().unwrap().success());
    assert!(started.elapsed() < HELD / 2, "{:?}", started.elapsed());
}

/// A task that computes stands for the handler: it holds the only thread there is, once signals are listened to.
#[tokio::main(flavor = "current_thread")]
async fn serve() {
    async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
        Ok(pod)
    }
    vestibule_command::init_logs();
    let identity = Local::in_memory(&["localhost"], SystemTime::now()).unwrap();
    let mut options = Options::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Arc::new(identity));
    options.before_exit = Some(vestibule_command::finish_logs);
    let app =
        App::new("demo").mutate("same", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), same);
    let bound = app.bind(options).await.unwrap();
    tokio::spawn(async {
        tracing::info!("held");
        std::thread::sleep(HELD);
    });
    bound.serve_until_signalled().await.unwrap();
}
