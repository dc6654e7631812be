//! Commands of pages that need a running injector.

use std::path::Path;

use http::StatusCode;
use serde_json::json;
use vestibule_testenv::{Options, leave_out, start_or_skip, tools_or_skip};

use super::ledger::{CHANGE_RULES, Held, ROWS};
use super::node;
use crate::api;
use crate::cluster::{InstalledInjector, pod, print_manifests};
use crate::examples;
use crate::fixture::with_kubectl;
use crate::how_to;
use crate::wait;

const HOME: &str = "webhooks";

#[tokio::test]
async fn commands_of_pages_work_with_an_installed_injector() {
    if !how_to::is_there("curl") {
        return leave_out("there is no `curl` in PATH");
    }
    let Some(tools) = tools_or_skip().await else { return };
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}});
    environment.apply([namespace]).await.unwrap();
    let service = environment.service(HOME, "injector").await.unwrap();
    let (manifests, _) = print_manifests(&examples::rules(), HOME, &service);
    let injector = InstalledInjector::install(environment, HOME, service, manifests, |_| {}).await;
    wait_until_config_maps_are_validated(&injector).await;
    let folder = how_to::folder(&["examples"]);
    let binary = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap();
    let run = |script: &str| {
        let script = format!("PATH={}:$PATH\nexec 2>&1\n{script}", binary.display());
        let mut shell = with_kubectl(&injector.environment, &tools, &script);
        let done = shell.current_dir(folder.path()).output().unwrap();
        (done.status.success(), String::from_utf8(done.stdout).unwrap())
    };
    // Writes the files of the page.
    ROWS.iter().find(|row| row.page == CHANGE_RULES).unwrap().block(folder.path());
    let (is_created, printed) = run("kubectl -n webhooks create configmap cache --from-file=rules.yaml \
         && kubectl -n webhooks label configmap cache vestibule.dev/config=true");
    assert!(is_created, "{printed}");
    fail_open(&injector).await;

    let _kubelet = node::run_pod(&injector, &tools, HOME).await;
    let service = injector.service.address();
    let values = [
        ("ADDRESS", injector.address.to_string()),
        ("LOCAL", service.ip().to_string()),
        ("SERVICE-PORT", service.port().to_string()),
    ];

    for row in ROWS.iter().filter(|row| matches!(row.held, Held::Installed)) {
        let block = row.block(folder.path());
        let script = forward_first(&block.script_with(row.with));
        let script =
            values.iter().fold(script, |script, (placeholder, here)| script.replace(placeholder, here));
        let (succeeds, printed) = run(&script);
        let shown = block.output();
        let is_refused = shown.contains("denied the request");
        assert_eq!(succeeds, !is_refused, "{}: {}\n{printed}", row.page, row.begins);
        if !shown.is_empty() {
            assert_eq!(without_values(&printed), without_values(&shown), "{}", row.page);
        }
        for (page, words) in PRINTED {
            assert!(page != row.page || printed.contains(words), "{page}: no `{words}` in\n{printed}");
        }
    }
}

/// Parts of the output of commands for which the page shows none.
const PRINTED: [(&str, &str); 4] = [
    ("docs/reference/metrics.md", "\nvestibule_ready 1\n"),
    ("docs/how-to/alerts/VestibuleNotReady.md", "[+]certificate ok since "),
    ("docs/how-to/alerts/README.md", "\"serving\""),
    ("docs/how-to/alerts/VestibuleFailingOpen.md", "\napiserver_admission_webhook_fail_open_count"),
];

/// The script with port-forward at an address that only this test uses, and with each further command after the port is
/// open. The first failure ends it.
fn forward_first(script: &str) -> String {
    const OPEN: &str = " --address LOCAL > forward.log &
trap 'kill $!' EXIT
until grep -qs Forwarding forward.log; do
    kill -0 $! || { cat forward.log; exit 1; }
    sleep 0.1
done
";
    format!("set -e\nrm -f forward.log\n{}", script.replace(" &\n", OPEN))
}

/// The text without times, and without the rules in force.
fn without_values(text: &str) -> String {
    let cut = |line: &str| {
        let ends = [" since ", " hash "].iter().filter_map(|value| line.find(value)).min();
        format!("{}\n", &line[..ends.unwrap_or(line.len())])
    };
    text.lines().map(cut).collect()
}

/// Makes one call fail open: the API server shows the metric only after that.
async fn fail_open(injector: &InstalledInjector) {
    injector.service.remove_replica(injector.address);
    injector.service.wait_for_replicas(0).await.unwrap();
    injector.service.cut_connections();
    let namespace = injector.environment.namespace(&[("injection", "enabled")]).await.unwrap();
    let uri = format!("/api/v1/namespaces/{}/pods?dryRun=All", namespace.name());
    let client = injector.environment.admin().unwrap();
    let made = api::post(&client, &uri, &pod("passes")).await.object();
    assert!(made["spec"]["initContainers"].is_null(), "{made}");
    injector.service.add_replica(injector.address, Some(injector.probes)).unwrap();
    injector.service.wait_for_replicas(1).await.unwrap();
}

/// Waits until the API server knows the entry of the validating hook.
async fn wait_until_config_maps_are_validated(injector: &InstalledInjector) {
    let broken = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"rules.yaml": "kind: ["},
        "metadata": {"name": "broken", "labels": {"vestibule.dev/config": "true"}},
    });
    let uri = format!("/api/v1/namespaces/{HOME}/configmaps?dryRun=All");
    let client = injector.environment.admin().unwrap();
    let created = async || api::post(&client, &uri, &broken).await;
    let refused = wait::until(created, |reply| reply.status == StatusCode::FORBIDDEN).await;
    refused.unwrap_or_else(|reply| panic!("{}\n{}", reply.body, injector.server.log()));
}
