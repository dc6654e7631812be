//! Runs the commands of pages and compares their output with the page.
//!
//! A block ```` ```yaml NAME ```` (or `json`) is a file. In a block ```` ```console ```` each line that begins with `$ ` is run in a
//! folder with those files and the repository's `examples`; the lines after it are its output. Blocks with cargo and kubectl are
//! skipped, and so are blocks with promtool if it is not installed, which is reported. `VESTIBULE_UPDATE_GOLDEN=1` writes the
//! output into the page.

mod watch;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::Folder;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Whether this module runs the block of this page and compares its output.
pub(crate) fn runs(page: &str, block: &str) -> bool {
    const PAGES: [&str; 6] = [
        "README.md",
        "docs/how-to/inject-in-ci.md",
        "docs/how-to/start-a-webhook.md",
        "docs/how-to/try-rules.md",
        "docs/how-to/two-versions-of-a-rule.md",
        "docs/how-to/watch.md",
    ];
    let is_of_a_rule = page.starts_with("docs/how-to/rules/") && !page.ends_with("README.md");
    (PAGES.contains(&page) || is_of_a_rule) && !block.lines().any(is_of_another)
}

/// The page with the output that its commands print now.
fn run(page: &str) -> String {
    run_in(&folder(&["examples"]), page)
}

/// A folder with these folders of the repository.
pub(crate) fn folder(names: &[&str]) -> Folder {
    let folder = Folder::with(&[]);
    for name in names {
        std::os::unix::fs::symlink(Path::new(ROOT).join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn run_in(folder: &Folder, page: &str) -> String {
    let (mut text, mut code) = (String::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        writeln!(text, "{line}").unwrap();
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            Some(("yaml" | "json", name)) => {
                folder.write(name, block.join("\n") + "\n");
                writeln!(text, "{}\n```", block.join("\n")).unwrap();
            }
            None if info == "console" && !block.iter().any(|line| is_elsewhere(line)) => {
                writeln!(text, "{}```", console(folder, &block, &mut code)).unwrap();
            }
            _ => writeln!(text, "{}\n```", block.join("\n")).unwrap(),
        }
    }
    text
}

/// Whether the line is not run here: it needs cargo or a cluster, does not end, or its program is not installed.
fn is_elsewhere(line: &str) -> bool {
    if line.starts_with("$ promtool ") && !is_there("promtool") {
        vestibule_testenv::leave_out_part(&format!(
            "there is no `promtool` in PATH; it is in Debian's package `prometheus`: {line}"
        ));
        return true;
    }
    is_of_another(line)
}

pub(crate) fn is_there(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Whether the line needs cargo or a cluster, or does not end.
fn is_of_another(line: &str) -> bool {
    ["$ cargo ", "$ kubectl ", "$ vestibule serve "].iter().any(|command| line.starts_with(command))
}

/// The commands of a block with their output. A command may have several lines.
fn console(folder: &Folder, block: &[&str], code: &mut i32) -> String {
    let mut text = String::new();
    let mut lines = block.iter();
    while let Some(line) = lines.next() {
        let Some(mut typed) = line.strip_prefix("$ ").map(str::to_owned) else { continue };
        while typed.ends_with('\\') {
            typed.push('\n');
            typed.push_str(lines.next().unwrap());
        }
        writeln!(text, "$ {typed}").unwrap();
        if typed == "echo $?" {
            writeln!(text, "{code}").unwrap();
            continue;
        }
        let binary = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{typed}")]).current_dir(folder.path()).env("PATH", path);
        for variable in ["NO_COLOR", "CLICOLOR_FORCE", "CARGO_MANIFEST_DIR", "VESTIBULE_RULES"] {
            shell.env_remove(variable);
        }
        let done = shell.stdin(Stdio::null()).output().unwrap();
        *code = done.status.code().unwrap();
        text.push_str(&String::from_utf8(done.stdout).unwrap());
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn check(name: &str) {
    let path = Path::new(ROOT).join(name);
    let page = std::fs::read_to_string(&path).unwrap();
    compare(name, &page, &run(&page));
}

fn compare(name: &str, page: &str, now: &str) {
    if std::env::var_os("VESTIBULE_UPDATE_GOLDEN").is_some() {
        std::fs::write(Path::new(ROOT).join(name), now).unwrap();
        return;
    }
    let plain = vestibule_command::colour::When::Never.palette();
    assert!(page == now, "{name}:\n{}", vestibule_command::diff::unified(page, now, plain));
}

#[test]
fn inject_in_ci() {
    check("docs/how-to/inject-in-ci.md");
}

#[test]
fn start_a_webhook() {
    check("docs/how-to/start-a-webhook.md");
}

#[test]
fn try_rules() {
    check("docs/how-to/try-rules.md");
}

#[test]
fn two_versions_of_a_rule() {
    check("docs/how-to/two-versions-of-a-rule.md");
}

/// Each example rule has a page with all five commands and their whole output.
#[test]
fn the_example_rules() {
    let rules = crate::examples::rules();
    for name in crate::examples::names(&rules) {
        let page = format!("docs/how-to/rules/{name}.md");
        check(&page);
        let text = std::fs::read_to_string(Path::new(ROOT).join(&page)).unwrap();
        for command in ["try", "inject", "explain", "lint", "test"] {
            let typed: Vec<&str> =
                text.lines().filter(|line| line.starts_with(&format!("$ vestibule {command} "))).collect();
            assert!(!typed.is_empty(), "{page}: {command}");
            assert!(typed.iter().all(|line| !line.contains(['|', '>'])), "{page}: {typed:?}");
        }
    }
}

#[test]
fn the_readme() {
    check("README.md");
}
