//! Two versions of a rule on a real API server: the commands with kubectl of docs/how-to/two-versions-of-a-rule.md.

use std::path::Path;

use vestibule_testenv::Options;

use super::{Cluster, kubectl};
use crate::fixture::Folder;
use crate::how_to::ROOT;
use crate::pages::block::Block;
use crate::wait;

/// two-versions-of-a-rule.md
#[tokio::test]
async fn a_label_of_the_namespace_or_the_pod_chooses_the_version() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    let _server = cluster.replica("first").await;
    let page =
        std::fs::read_to_string(Path::new(ROOT).join("docs/how-to/two-versions-of-a-rule.md")).unwrap();
    let blocks = Block::all(&page);
    let of = |name: &str| {
        blocks.iter().find(|block| block.file() == Some(name)).map(|block| &*block.text).unwrap()
    };
    let files = ["rules/proxy.yaml", "web.yaml", "canary.yaml"].map(of);
    let folder = Folder::with(&[("rules.yaml", files[0]), ("web.yaml", files[1]), ("canary.yaml", files[2])]);
    let run = |script: &str| kubectl(&cluster.environment, &cluster.tools, &folder, script);
    run("kubectl create namespace shop && (kubectl create serviceaccount default -n shop || true)").exits(0);
    run("kubectl label namespace shop vestibule.dev/inject=proxy-1-24 && kubectl apply -f rules.yaml")
        .exits(0);
    run("kubectl wait --for=condition=InForce injection/proxy-1-24 injection/proxy-1-25 --timeout=60s")
        .exits(0);
    let image = |pod: &str| {
        run(&format!(
            "kubectl create -n shop --dry-run=server -f {pod}.yaml -o jsonpath='{{.spec.initContainers[*].image}}'"
        ))
    };
    let until = async |pod: &str, version: &str| {
        let wanted = format!("registry.example.com/proxy:{version}");
        wait::until(async || image(pod), |done| done.out == wanted).await.unwrap();
    };
    until("web", "1.24.0").await;
    image("canary").prints("registry.example.com/proxy:1.25.0");

    // The dry runs take the names of the files.
    run("cat web.yaml canary.yaml | sed 's/^apiVersion/---\\n&/; s/^  name: /&kept-/' | kubectl create -n shop -f -")
        .exits(0);
    let kubeconfig = cluster.environment.kubeconfig();
    let drift = || folder.run(&format!("drift -n shop --kubeconfig {}", kubeconfig.display()));
    drift().exits(0).tells("2 pods: each has the rules in force");

    let moved = blocks.iter().find(|block| block.text.starts_with("$ kubectl label")).unwrap();
    run(&moved.script()).exits(0);
    until("web", "1.25.0").await;
    // The pods of the namespace keep what they have.
    let done = drift();
    done.exits(1).tells("1 of 2 pods lag");
    done.shows("rule proxy-1-24  would not apply  kept-web\n");
    run(&moved.script().replace("1-25", "1-24")).exits(0);
    until("web", "1.24.0").await;
}
