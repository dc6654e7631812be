//! The commands of `README.md`, and of pages that use this example.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../topolvm/tests/it/replay.rs"]
mod replay;

use std::fs::{create_dir_all, remove_dir_all};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../README.md");

#[tokio::test]
async fn the_article_about_knative_is_replayed() {
    let page = include_str!("../../../docs/how-to/articles/knative.md");
    replay::replay(page, env!("CARGO_BIN_EXE_env-injector"), "injector").await;
}

#[tokio::test]
async fn the_page_about_upgrades_is_replayed() {
    let page = include_str!("../../../docs/how-to/upgrade-a-webhook.md");
    replay::replay(page, env!("CARGO_BIN_EXE_env-injector"), "injector").await;
}

#[test]
fn the_commands_of_the_page_work() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("env-injector");
    let _ = remove_dir_all(&folder);
    create_dir_all(&folder).unwrap();
    let (_, block) = PAGE.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let commands: Vec<_> = block.lines().collect();
    let [serve, manifests] = commands.try_into().unwrap();
    let program = |typed: &str| {
        let arguments = typed.strip_prefix("cargo run -p env-injector -- ").unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_env-injector"));
        program.args(arguments.split(' ')).current_dir(&folder);
        program
    };

    let printed = program(manifests).output().unwrap();
    let [printed, errors] = [printed.stdout, printed.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(printed.contains("kind: MutatingWebhookConfiguration"), "{printed}{errors}");

    // Free ports instead of the page's, and no wait for endpoints.
    let mut server = program(&serve.replace("127.0.0.1:10250", "127.0.0.1:0"))
        .args(["--metrics-listen", "127.0.0.1:0", "--drain-delay", "0s"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(log.any(|line| line.contains("serving")), "it ended with {:?}", server.wait());
    assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap().success());
    let rest: Vec<_> = log.collect();
    assert!(server.wait().unwrap().success(), "{rest:?}");
    assert!(folder.join("identity/ca.crt").is_file());
}
