//! Checks the workflows with actionlint, and the one that `vestibule new` writes. A test checks that every action is pinned to a commit.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::outcome::Outcome;
use crate::{cargo, files};

/// The workflow that `vestibule new` writes.
const TEMPLATE: &str = "crates/cli/src/new/webhook/ci.yml";
/// The version that Go builds when there is no actionlint in PATH.
const MODULE: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// Checks all workflows.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let Some(program) = program()? else {
        println!("NOT CHECKED, because actionlint is missing and could not be built: `go install {MODULE}`");
        return Ok(Outcome::LeftOut);
    };
    let files = files()?;
    // Only the workflows' own text: a shellcheck of this machine may be of any version.
    let mut command = Command::new(program);
    let status = command.args(["-shellcheck=", "-pyflakes="]).args(&files).status();
    if !status.context("actionlint cannot be started")?.success() {
        bail!("actionlint refuses a workflow");
    }
    println!("workflows: {} files, accepted by actionlint", files.len());
    Ok(Outcome::Passed)
}

/// actionlint in PATH, in the cache, or built into the cache.
fn program() -> anyhow::Result<Option<PathBuf>> {
    let name = format!("actionlint{}", std::env::consts::EXE_SUFFIX);
    if cargo::is_installed(&name) {
        return Ok(Some(name.into()));
    }
    let version = MODULE.rsplit('@').next().unwrap_or_default();
    let folder = cargo::cache()?.join(format!("actionlint-{version}"));
    let program = folder.join(name);
    if !program.is_file() {
        let built = Command::new("go").args(["install", MODULE]).env("GOBIN", &folder).status();
        if !built.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
    }
    Ok(Some(program))
}

/// The workflows, with the template.
fn files() -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files::list(&cargo::workspace().join(".github/workflows"))?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yml"));
    files.push(cargo::workspace().join(TEMPLATE));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn texts() -> Vec<(String, String)> {
        let read = |path: PathBuf| {
            let below = path.strip_prefix(cargo::workspace()).unwrap();
            (below.display().to_string(), files::read(&path).unwrap())
        };
        files().unwrap().into_iter().map(read).collect()
    }

    /// A tag such as `v5` can be moved, and would then run other code in this repository's releases.
    #[test]
    fn every_action_is_pinned_to_a_commit_and_names_its_version() {
        let mut pins = std::collections::BTreeMap::new();
        for (file, text) in texts() {
            for line in text.lines().filter_map(|line| line.split_once("uses: ")) {
                let (action, version) =
                    line.1.split_once(" # ").unwrap_or_else(|| panic!("{file}: {line:?}"));
                let (name, commit) = action.split_once('@').unwrap();
                assert!(
                    commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                    "{file}: {action}"
                );
                assert!(version.starts_with('v') && version.split('.').count() == 3, "{file}: {line:?}");
                let pin = (commit.to_owned(), version.to_owned());
                let earlier = pins.entry(name.to_owned()).or_insert_with(|| pin.clone());
                assert_eq!(*earlier, pin, "{file}: {name} has two pins");
            }
        }
        assert!(pins.len() >= 5, "{pins:?}");
    }

    #[test]
    fn the_template_has_actions_of_this_repository() {
        let texts = texts();
        let (ours, template): (Vec<_>, Vec<_>) = texts.iter().partition(|(file, _)| file != TEMPLATE);
        let actions: Vec<_> = template[0].1.lines().filter_map(|line| line.split_once("uses: ")).collect();
        assert!(actions.len() >= 3, "{actions:?}");
        for (_, action) in actions {
            assert!(ours.iter().any(|(_, text)| text.contains(action)), "{action}");
        }
    }

    /// A workflow cannot be run on a laptop; its tasks can.
    #[test]
    fn every_task_of_a_workflow_can_be_typed() {
        let mut tasks = 0;
        for (file, text) in texts() {
            let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            let typed = lines.filter_map(|line| line.split_once("cargo xtask ").map(|(_, task)| task));
            let listed = text
                .split(" task:\n")
                .skip(1)
                .flat_map(|rest| rest.lines().map_while(|line| line.trim_start().strip_prefix("- ")));
            for task in typed.chain(listed) {
                // The matrix gives the rest; its tasks are listed.
                let task = task.split("${{").next().unwrap().replace('"', "");
                let words = task.split_whitespace().map(|word| match word.starts_with('$') {
                    // A variable of the workflow: a value that any option takes.
                    true => "amd64",
                    false => word,
                });
                let parsed = crate::Arguments::try_parse_from(std::iter::once("xtask").chain(words));
                assert!(parsed.is_ok(), "{file}: {task}: {}", parsed.err().unwrap());
                tasks += 1;
            }
        }
        assert!(tasks >= 12, "{tasks}");
    }
}
