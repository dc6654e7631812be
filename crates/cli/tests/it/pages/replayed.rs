//! Pages of which one test runs all blocks, from top to bottom, on a real API server.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vestibule_testenv::Options;

use super::block::Block;
use super::{append_code, read};
use crate::api;
use crate::fixture::with_kubectl;
use crate::how_to::{self, ROOT};
use crate::rule_objects::Cluster;
use crate::wait;

const FOLDER: &str = "docs/how-to/articles/";
const NGINX: &str = "docs/how-to/articles/nginx.md";
const ENVOY: &str = "docs/how-to/articles/envoy.md";
const KIND: &str = "docs/how-to/kind.md";
/// The tests that run all blocks of these pages, in their order.
const REPLAYED: [(&str, &str); 7] = [
    ("docs/how-to/articles/cert-controller.md", "the_article_about_cert_controller_is_replayed"),
    (ENVOY, "the_articles_about_injectors_are_replayed"),
    ("docs/how-to/articles/knative.md", "the_article_about_knative_is_replayed"),
    ("docs/how-to/articles/kubebuilder.md", "the_article_about_kubebuilder_is_replayed"),
    (NGINX, "the_articles_about_injectors_are_replayed"),
    (KIND, "the_articles_about_injectors_are_replayed"),
    ("docs/how-to/upgrade-a-webhook.md", "the_page_about_upgrades_is_replayed"),
];
/// The namespace of the injector on the pages.
const HOME: &str = "vestibule-system";
/// The injector is installed already, with a replica that the test started, so `install` only asks. It would add a port to the
/// Service of the environment, and of several ports each needs a name.
const RENAME: &str = "kubectl patch service injector -n NAMESPACE --type json \
                      -p '[{\"op\": \"add\", \"path\": \"/spec/ports/0/name\", \"value\": \"test\"}]'";

pub(super) fn is_replayed(page: &str) -> bool {
    REPLAYED.iter().any(|(replayed, _)| *replayed == page)
}

/// One injector without rules, for all pages.
#[tokio::test]
async fn the_articles_about_injectors_are_replayed() {
    // The pages make namespaces, and no controller makes ServiceAccounts in them.
    let options =
        Options::default().controller_manager().api_server_flag("--disable-admission-plugins=ServiceAccount");
    let Some(cluster) = Cluster::start(&options).await else { return };
    let _server = cluster.replica("first").await;
    let asking = json!({"sidecar-injector-webhook.morven.me/inject": "true"});
    replay(&cluster, NGINX, "injection", asking, |pod| {
        pod["spec"]["containers"].as_array().unwrap().len() == 2
    })
    .await;
    let has_init_containers = |pod: &Value| !pod["spec"]["initContainers"].is_null();
    replay(&cluster, ENVOY, "mesh", json!({}), has_init_containers).await;
    replay(&cluster, KIND, "default", json!({}), |_| true).await;
}

/// Runs the blocks of a page and compares their output. After a label, it waits until a pod with `annotations` would be
/// injected in a namespace with this label.
async fn replay(
    cluster: &Cluster,
    page: &str,
    namespace: &str,
    annotations: Value,
    is_injected: impl Fn(&Value) -> bool,
) {
    let folder = how_to::folder(&["examples"]);
    let binary = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap().display();
    let client = cluster.environment.admin().unwrap();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "annotations": annotations},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    });
    for block in Block::all(&read(page)) {
        if let Some(name) = block.file() {
            folder.write(name, &block.text);
        }
        if !block.has_commands() {
            continue;
        }
        let home = &cluster.home;
        let mut script = block.script().replace(HOME, home);
        script =
            script.replace("vestibule install", &format!("{RENAME}\nvestibule install --dry-run -n {home}"));
        script = script.replace("vestibule uninstall", &format!("vestibule uninstall -n {home}"));
        script = script.replace("NAMESPACE", home);
        let script = format!("set -e\nexec 2>&1\nPATH={binary}:$PATH\n{script}");
        let mut shell = with_kubectl(&cluster.environment, &cluster.tools, &script);
        let done = shell.current_dir(folder.path()).output().unwrap();
        let printed = String::from_utf8(done.stdout).unwrap().replace(&cluster.home, HOME);
        assert!(done.status.success(), "{page}: {}{printed}", block.text);
        let shown = block.output();
        assert!(shown.is_empty() || printed == shown, "{page}: {}\nprinted:\n{printed}", block.text);

        let labelled = if block.text.contains("label configmap") {
            // The rule is in force when it applies in a new namespace with the label.
            let namespace = cluster.environment.namespace(&[("sidecar-injector", "enabled")]).await.unwrap();
            namespace.name().to_owned()
        } else if block.text.contains("label namespace") {
            namespace.to_owned()
        } else {
            continue;
        };
        let uri = format!("/api/v1/namespaces/{labelled}/pods?dryRun=All");
        let created = async || api::post(&client, &uri, &pod).await.object();
        let injected = wait::until(created, |pod| is_injected(pod)).await;
        injected.unwrap_or_else(|pod| panic!("{page}: a pod in {labelled} is not injected: {pod}"));
    }
}

/// Every test that a page names exists, and each page about an article has a section of such names.
#[test]
fn replayed_pages_name_tests_that_exist() {
    let mut code = Vec::new();
    for folder in ["crates", "examples", "tests"] {
        append_code(&Path::new(ROOT).join(folder), &mut code);
    }
    let articles = REPLAYED.iter().filter(|(page, _)| page.starts_with(FOLDER)).count();
    assert_eq!(fs::read_dir(Path::new(ROOT).join(FOLDER)).unwrap().count(), articles);
    for (page, test) in REPLAYED {
        let name = page.rsplit('/').next().unwrap();
        let runs = |code: &String| code.contains(&format!("fn {test}(")) && code.contains(name);
        assert!(code.iter().any(runs), "{page}: no test {test}");
        let text = read(page);
        let names = text.split('`').skip(1).filter(|name| {
            name.matches('_').count() > 2
                && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        });
        let mut count = 0;
        for name in names {
            assert!(code.iter().any(|code| code.contains(&format!("fn {name}("))), "{page}: no test {name}");
            count += 1;
        }
        let least = if text.contains("\n## What breaks there\n") { 5 } else { 0 };
        assert!(count >= least && page.starts_with(FOLDER) == (least > 0), "{page}: {count} tests");
    }
}
