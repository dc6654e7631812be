//! The Event of `docs/how-to/watch.md`, by the page's own commands.

use vestibule_testenv::tools_or_skip;

use super::Cluster;
use crate::fixture::{Folder, finish, with_kubectl};
use crate::wait;

const PAGE: &str = include_str!("../../../../../docs/how-to/watch.md");
/// The namespaces of the Job and of the injector on the page.
const NAMESPACES: [&str; 2] = ["-n shop ", "ConfigMap webhooks/"];

#[tokio::test]
async fn a_skipped_rule_makes_an_event_on_the_job() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("sidecar-injector", "enabled")]).await;
    let host = cluster.injector.service.host();
    let home = host.split('.').nth(1).unwrap();
    let here = [format!("-n {namespace} "), format!("ConfigMap {home}/")];
    let page =
        NAMESPACES.iter().zip(&here).fold(PAGE.to_owned(), |page, (there, here)| page.replace(there, here));
    let (_, rest) = page.split_once("```yaml job.yaml\n").unwrap();
    let (job, rest) = rest.split_once("```").unwrap();
    let folder = Folder::with(&[("job.yaml", job)]);
    let (_, console) = rest.split_once("```console\n$ ").unwrap();
    let typed: Vec<_> = console.split_once("```").unwrap().0.split("\n$ ").collect();
    assert_eq!(typed.len(), 2);

    for command in typed {
        // A command continues after a line that ends with a backslash.
        let ends = command.match_indices('\n').find(|(at, _)| !command[..*at].ends_with('\\'));
        let (command, printed) = command.split_at(ends.unwrap().0);
        let run = async || {
            let script = format!("exec 2>&1\n{command}");
            let mut shell = with_kubectl(&cluster.injector.environment, &tools, &script);
            finish(shell.current_dir(folder.path()), "").out
        };
        // The controller needs some time to make the pod of the Job.
        let shown =
            wait::until(run, |out| out.trim() == printed.trim() || !command.starts_with("kubectl get "));
        let out = shown.await.unwrap_or_else(|out| out);
        assert_eq!(out.trim(), printed.trim(), "$ {command}");
    }
}
