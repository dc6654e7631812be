//! Log levels on a real cluster: raised by the command, applied by the process, and reset after the time.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::process::Process;

const CONFIG_MAP: &str = "contract-logging";
/// A value of a key that Vestibule does not use.
const CANARY: &str = "canary-config-map";

#[tokio::test]
async fn a_level_is_raised_for_a_while_and_a_bad_one_changes_nothing() {
    let Some(environment) = vestibule_testenv::shared_or_skip().await else { return };
    let namespace = environment.namespace(&[]).await.unwrap().name().to_owned();
    let kubeconfig = environment.kubeconfig();
    let place = ["--namespace", &namespace, "--kubeconfig", kubeconfig.to_str().unwrap()];
    let run = |words: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contract"));
        command.args(words).args(place).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It ends when this process closes the pipe.
        let held = child.stdin.take();
        let done = child.wait_with_output().unwrap();
        drop(held);
        done
    };
    let stdout = |words: &[&str]| {
        let done = run(words);
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let config_maps = Api::<ConfigMap>::namespaced(environment.admin().unwrap(), &namespace);
    let patch = async |data: Value| {
        let patch = Patch::Merge(json!({"data": data}));
        config_maps.patch(CONFIG_MAP, &PatchParams::default(), &patch).await.unwrap();
    };

    let flags = [&place[..], &["--log-config-map", CONFIG_MAP]].concat();
    let server = Process::start(&flags, &[]);
    let in_force = || server.probe("/readyz?verbose").1;
    assert!(stdout(&["loglevel"]).contains("/contract-logging: each replica keeps"));
    assert!(in_force().contains("log level: info (RUST_LOG)"), "{}", in_force());

    // In another namespace than that of the replicas both were a success without a word about it.
    let told = |words: &[&str]| String::from_utf8(run(words).stderr).unwrap();
    assert!(told(&["loglevel", "--reset"]).contains("nothing to reset"));
    assert!(
        told(&["loglevel", "debug", "--for", "1h"]).contains("contract-logging was not there and is new")
    );
    server.said(r#""level":"debug, over info (RUST_LOG)""#);
    assert!(in_force().contains("log level: debug, over info (RUST_LOG)"), "{}", in_force());
    assert!(stdout(&["loglevel"]).contains("raised, until"), "{}", stdout(&["loglevel"]));

    // One value is invalid and one is valid; both apply after the raise has ended.
    patch(json!({"loglevel.server": "loud", "loglevel.identity": "warn", "other": CANARY})).await;
    server.said("an invalid log level");
    assert!(in_force().contains("log level: debug, over info (RUST_LOG)"), "{}", in_force());
    assert!(stdout(&["loglevel"]).contains("not understood: `loglevel.server`"));
    let event = bad_level_event(environment.admin().unwrap(), &namespace).await;
    let about = event.regarding.unwrap_or_default();
    assert_eq!((about.kind.as_deref(), about.name.as_deref()), (Some("ConfigMap"), Some(CONFIG_MAP)));
    assert!(about.uid.is_some(), "kubectl describe finds it");
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    let note = event.note.unwrap_or_default();
    assert!(note.contains("`loglevel.server`") && !note.contains(CANARY), "{note}");
    assert_eq!(run(&["loglevel", "loud"]).status.code(), Some(2));
    assert_eq!(run(&["loglevel", "debug", "--for", "48h"]).status.code(), Some(2));

    // The raise ends by itself, and the permanent level applies again.
    stdout(&["loglevel", "trace", "--for", "1h"]);
    server.said(r#""level":"trace, over info (RUST_LOG)""#);
    stdout(&["loglevel", "trace", "--for", "2s"]);
    server.said(r#""level":"identity=warn, over info (RUST_LOG)""#);
    stdout(&["loglevel", "trace", "--component", "dependencies", "--component", "app"]);
    server.said(r#""level":"identity=warn,app=trace,dependencies=trace, over info (RUST_LOG)""#);
    stdout(&["loglevel", "--reset"]);
    let kept = config_maps.get(CONFIG_MAP).await.unwrap().data.unwrap();
    let keys: Vec<_> = kept.keys().map(String::as_str).collect();
    assert_eq!(keys, ["loglevel.identity", "loglevel.server", "other"]);
    assert!(!server.whole_log().contains(CANARY));

    // The printed rights allow this ConfigMap and no other.
    let name = format!("{namespace}-contract");
    let printed = stdout(&[
        "manifests",
        "--only",
        "rbac",
        "--service",
        &name,
        "--identity",
        "mounted:/certs",
        "-o",
        "json",
        "--log-config-map",
        CONFIG_MAP,
    ]);
    let objects: Value = serde_json::from_str(&printed).unwrap();
    let objects = objects["items"].as_array().unwrap().clone();
    environment.apply(objects.clone()).await.unwrap();
    let account = objects[1]["subjects"][0]["name"].as_str().unwrap();
    environment.wait_until_granted(&namespace, account, &objects).await.unwrap();
    let client = environment.service_account(&namespace, account).await.unwrap();
    let config_maps = Api::<ConfigMap>::namespaced(client, &namespace);
    let ours = ListParams::default().fields(&format!("metadata.name={CONFIG_MAP}"));
    assert_eq!(config_maps.list(&ours).await.unwrap().items.len(), 1);
    assert!(config_maps.list(&ListParams::default()).await.is_err());
}

/// The Event about the invalid level, which is written asynchronously.
async fn bad_level_event(admin: Client, namespace: &str) -> Event {
    let events = Api::<Event>::namespaced(admin, namespace);
    let ours = ListParams::default().fields("reason=LogLevelNotUnderstood");
    let last = Instant::now() + Duration::from_secs(60);
    loop {
        if let [event] = &events.list(&ours).await.unwrap().items[..] {
            return event.clone();
        }
        assert!(Instant::now() < last, "no Event, or more than one");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
