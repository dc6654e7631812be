//! The commands in the text of the pages about alerts, which are run while the troubles last.
//!
//! `runbooks/rows.rs` says of each command what it prints. Blocks of commands are run by the tests of `crates/cli`.

mod rows;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use http::Method;
use serde_json::Value;
use vestibule_testenv::until;

use self::rows::{ROWS, Row, VALUES};
use crate::api::{JSON, done};
use crate::cluster::Cluster;
use crate::prometheus::Prometheus;
use crate::{root, say};

const PAGES: &str = "docs/how-to/alerts";
/// The first words of commands; a page names a command by its name alone too.
const PROGRAMS: [&str; 6] = ["kubectl ", "vestibule ", "curl ", "date ", "chronyc ", "timedatectl"];
/// The begin of queries for Prometheus.
const QUERIES: [&str; 3] = ["sum by ", "sum(", "rate("];
/// For what a command has to bring about.
const PATIENCE: Duration = Duration::from_secs(60);

/// The expected result of a command.
#[derive(Clone, Copy)]
enum Expected {
    /// It succeeds and prints this.
    Shows(&'static str),
    /// It fails and prints this.
    Refused(&'static str),
    /// It fails and prints this line, perhaps with a reason behind ` - `.
    Denies(&'static str),
    /// It succeeds, and then this query has a result.
    Cures(&'static str),
    /// It is not run, for this reason.
    LeftOut(&'static str),
}

/// A command of a page, and what came of it.
pub(crate) struct Ran {
    /// The alert.
    pub(crate) page: String,
    pub(crate) command: String,
    /// The difference from it.
    pub(crate) wrong: Option<String>,
    pub(crate) left_out: Option<&'static str>,
}

/// Runs the commands of all pages, in the order of the rows.
pub(crate) async fn run(cluster: &Cluster, prometheus: &Prometheus) -> anyhow::Result<Vec<Ran>> {
    prepare(cluster).await?;
    let written = commands()?;
    let mut ran = Vec::new();
    for row in ROWS {
        let command = row.command(&written)?.to_owned();
        let wrong = match row.expected {
            Expected::LeftOut(_) => None,
            _ => row.run(&command, cluster, prometheus).await.err().map(|error| format!("{error:#}")),
        };
        if let Some(wrong) = &wrong {
            say(&format!("{}: {command}: {wrong}", row.page));
        }
        let left_out = match row.expected {
            Expected::LeftOut(reason) => Some(reason),
            _ => None,
        };
        ran.push(Ran { page: row.page.to_owned(), command, wrong, left_out });
    }
    Ok(ran)
}

/// The objects and files that the placeholders stand for.
async fn prepare(cluster: &Cluster) -> anyhow::Result<()> {
    let mut kubeconfig: Value = serde_json::from_str(&fs::read_to_string(cluster.environment.kubeconfig())?)?;
    // Commands without a namespace are about the objects of the user.
    kubeconfig["contexts"][0]["context"]["namespace"] = cluster.target.as_str().into();
    fs::write(cluster.folder.join("kubeconfig"), kubeconfig.to_string())?;
    let uri = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/injector";
    let configuration = done(&cluster.client, Method::GET, uri, JSON, &Value::Null).await?;
    let bundle = configuration["webhooks"][0]["clientConfig"]["caBundle"].clone();
    let bundle: k8s_openapi::ByteString = serde_json::from_value(bundle)?;
    fs::write(cluster.folder.join("ca.crt"), bundle.0)?;
    std::os::unix::fs::symlink(root().join("examples/rules"), cluster.folder.join("examples"))?;
    // Own webhooks have a program of their own.
    Ok(std::os::unix::fs::symlink(&cluster.program, cluster.folder.join("my-webhook"))?)
}

/// The commands and queries in the text of each page, in order.
fn commands() -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut pages = BTreeMap::new();
    for page in fs::read_dir(root().join(PAGES))? {
        let path = page?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        pages.insert(name, in_text(&fs::read_to_string(&path)?));
    }
    Ok(pages)
}

fn in_text(page: &str) -> Vec<String> {
    // Every second part is a block.
    let text: String = page.split("```").step_by(2).collect();
    let spans = text.split('`').skip(1).step_by(2).map(|span| span.replace("\\|", "|"));
    spans.filter(|span| PROGRAMS.iter().chain(&QUERIES).any(|begins| span.starts_with(begins))).collect()
}

impl Row {
    fn command<'c>(&self, written: &'c BTreeMap<String, Vec<String>>) -> anyhow::Result<&'c str> {
        let of_page = written.get(self.page).with_context(|| format!("no page {}", self.page))?;
        let command = of_page.iter().find(|command| command.starts_with(self.begins));
        Ok(command.with_context(|| format!("{}: no command {}", self.page, self.begins))?)
    }

    async fn run(&self, written: &str, cluster: &Cluster, prometheus: &Prometheus) -> anyhow::Result<()> {
        if QUERIES.iter().any(|begins| written.starts_with(begins)) {
            anyhow::ensure!(!prometheus.query(written).await?.is_empty(), "no result");
            return Ok(());
        }
        let script = self.script(written, cluster);
        // A page may tell what an object shows a moment later.
        let mut found = Err(anyhow::anyhow!("not run"));
        let attempts = if matches!(self.expected, Expected::Shows(_)) { 3 } else { 1 };
        for _ in 0..attempts {
            found = typed(&script, cluster);
            match (&found, self.expected) {
                (Ok((true, printed)), Expected::Shows(words)) if printed.contains(words) => return Ok(()),
                (Ok((false, printed)), Expected::Refused(words)) if printed.contains(words) => return Ok(()),
                (Ok((false, printed)), Expected::Denies(word))
                    if printed.lines().any(|line| line.split(" - ").next() == Some(word)) =>
                {
                    return Ok(());
                }
                (Ok((true, _)), Expected::Cures(query)) => {
                    let is_cured =
                        async || prometheus.query(query).await.is_ok_and(|found| !found.is_empty());
                    until(query, PATIENCE, is_cured).await?;
                    return Ok(());
                }
                _ => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
        let (succeeded, printed) = found?;
        let end: Vec<_> = printed.lines().rev().take(12).collect();
        let end: Vec<_> = end.into_iter().rev().map(|line| line.get(..300).unwrap_or(line)).collect();
        bail!("{} and printed\n{}", if succeeded { "succeeded" } else { "failed" }, end.join("\n"))
    }

    /// The command with the objects of this run.
    fn script(&self, written: &str, cluster: &Cluster) -> String {
        let mut values = BTreeMap::from([
            ("NS", cluster.home.clone()),
            ("HOST", cluster.injector.address.ip().to_string()),
            ("PORT", cluster.injector.address.port().to_string()),
            ("NAMESPACE", cluster.target.clone()),
        ]);
        for (pages, name, value) in VALUES {
            if pages.is_empty() || pages.contains(&self.page) {
                values.insert(name, (*value).to_owned());
            }
        }
        let mut script = with_values(written, &values);
        for (former, changed) in self.changes {
            script = script.replace(former, changed);
        }
        // The port that `kubectl port-forward` would lead to.
        script.replace(
            "localhost:9090",
            &cluster.others.first().map_or_else(String::new, |it| it.probes.to_string()),
        )
    }
}

/// Replaces the words in capitals that stand for names.
fn with_values(written: &str, values: &BTreeMap<&str, String>) -> String {
    let (mut text, mut word) = (String::new(), String::new());
    for letter in written.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        text += values.get(word.as_str()).unwrap_or(&word);
        text.push(letter);
        word.clear();
    }
    text.trim_end().to_owned()
}

/// Whether the script succeeded, and its output.
fn typed(script: &str, cluster: &Cluster) -> anyhow::Result<(bool, String)> {
    let mut shell: Command = cluster.environment.command("sh".as_ref());
    let folders = [cluster.tools.kubectl.parent(), cluster.vestibule.parent(), Some(&cluster.folder)];
    let mut path = std::env::join_paths(folders.into_iter().flatten())?;
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    shell.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(&cluster.folder);
    shell.env("PATH", path).env("KUBECONFIG", cluster.folder.join("kubeconfig")).stdin(Stdio::null());
    let done = shell.output()?;
    Ok((done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_a_page_has_one_row() {
        let written = commands().unwrap();
        let mut count = 0;
        for (page, commands) in &written {
            for command in commands {
                let rows =
                    ROWS.iter().filter(|row| row.page == page && command.starts_with(row.begins)).count();
                assert_eq!(rows, 1, "{page}: {command}");
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
        for row in ROWS {
            assert!(row.command(&written).is_ok(), "{}: {}", row.page, row.begins);
        }
    }

    #[test]
    fn words_in_capitals_are_replaced_as_a_whole() {
        let values = BTreeMap::from([("NS", "home".to_owned()), ("NAME", "injector".to_owned())]);
        let script = "kubectl get secret NAME-ring -n NS --as system:NS:ACCOUNT NAMESPACE";
        let expected = "kubectl get secret injector-ring -n home --as system:home:ACCOUNT NAMESPACE";
        assert_eq!(with_values(script, &values), expected);
    }

    #[test]
    fn commands_are_found_in_text_and_tables_and_not_in_blocks() {
        let page = "`kubectl get a \\| grep b`, or `sum(rate(c[5m]))` and `kubectl`\n```sh\nkubectl get d\n```\n`date -u`";
        assert_eq!(in_text(page), ["kubectl get a | grep b", "sum(rate(c[5m]))", "date -u"]);
    }
}
