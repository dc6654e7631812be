//! A test runs every command block of every page.
//!
//! [`how_to`](crate::how_to) runs the blocks that need only the binary and compares their output. The others are in
//! [`ledger::ROWS`]: blocks with kubectl are run here on a real API server, and blocks of examples by the example's own tests.

pub(crate) mod block;
mod installed;
mod ledger;
mod node;
mod replayed;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use vestibule_testenv::{Options, leave_out_part, start_or_skip, tools_or_skip};

use self::block::{Block, LEFT_OUT};
use self::ledger::{Held, ROWS, Row, TRACES};
use crate::fixture::{Folder, TARGET, with_kubectl};
use crate::how_to::{self, ROOT};

/// Every page except decisions and the changelog, which are about the past.
fn pages() -> Vec<String> {
    let root = Path::new(ROOT);
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.join("docs"), root.join("examples")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && path != root.join("docs/adr") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let top =
        ["README.md", "COMPARE.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "fuzz/README.md"];
    found.extend(top.map(|name| root.join(name)));
    let mut names: Vec<_> =
        found.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn read(page: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(page)).unwrap()
}

#[test]
fn every_command_block_of_every_page_is_run() {
    let (mut unlisted, mut matched) = (Vec::new(), BTreeSet::new());
    let mut count = 0;
    for page in pages() {
        for block in Block::all(&read(&page)).into_iter().filter(Block::has_commands) {
            count += 1;
            let rows = ROWS.iter().enumerate().filter(|(_, row)| row.page == page && row.begins(&block.text));
            let rows: Vec<_> = rows.map(|(at, _)| at).collect();
            let first = block.text.lines().next().unwrap_or_default();
            assert!(rows.len() <= 1, "{page}: several rows for `{first}`");
            matched.extend(rows.iter().copied());
            let is_run =
                replayed::is_replayed(&page) || block.info == "console" && how_to::runs(&page, &block.text);
            if rows.is_empty() && !is_run {
                unlisted.push(format!("{page}: {first}"));
            }
        }
    }
    assert!(count > 80, "{count} blocks");
    assert!(unlisted.is_empty(), "no test runs these:\n{}", unlisted.join("\n"));
    let stale: Vec<_> =
        ROWS.iter().enumerate().filter(|(at, _)| !matched.contains(at)).map(|(_, row)| row.begins).collect();
    assert!(stale.is_empty(), "rows for blocks that are not there: {stale:?}");
}

/// A page about an alert had `manifests --only network`, which is no part. `--help` at the end makes the binary check each flag
/// and value before it.
#[test]
fn commands_in_the_text_of_pages_and_of_help_are_those_of_the_binary() {
    let folder = Folder::with(&[]);
    let mut texts: Vec<_> = pages().iter().map(|page| (page.clone(), read(page))).collect();
    for command in ["certs new", "certs show", "certs check", "certs rotate", "certs revoke", "loglevel"] {
        texts.push((command.to_owned(), folder.run(&format!("{command} --help")).stdout()));
    }
    let mut count = 0;
    for (place, text) in texts {
        let text = text.replace("\\\n", " ").replace("\\|", "|");
        let parts = text.split(['`', '\n', '|']).map(str::trim);
        let commands = parts.filter_map(|part| part.strip_prefix("vestibule "));
        // A drawing has several spaces after a word, and a manifest has `=`.
        for typed in commands.filter(|typed| !typed.starts_with([' ', '='])) {
            let words =
                typed.split_whitespace().take_while(|word| !word.starts_with(['>', '<', '#', '&', ';']));
            // Capitals stand for names, which have none.
            let words: Vec<_> = words.filter(|word| *word != "...").map(str::to_lowercase).collect();
            let done = folder.run(&format!("{} --help", words.join(" ")));
            let is_known = done.code() == 0 || done.err.contains("a value is required for");
            assert!(is_known, "{place}: vestibule {typed}\n{}", done.err);
            count += 1;
        }
    }
    assert!(count > 80, "{count} commands");
}

/// A row names no test that has gone, or that reads another page.
#[test]
fn tests_that_run_a_block_elsewhere_exist_and_name_its_page() {
    let mut files = Vec::new();
    for folder in ["crates", "examples", "tests", "xtask"] {
        append_code(&Path::new(ROOT).join(folder), &mut files);
    }
    for row in ROWS {
        let (test, page) = match row.held {
            Held::Here | Held::Installed => continue,
            Held::By(test) => (test, row.page.rsplit('/').next().unwrap()),
            Held::Parsed(test) => (test, ""),
        };
        let holds = |code: &String| code.contains(&format!("fn {test}(")) && code.contains(page);
        assert!(files.iter().any(holds), "{}: no test {test}", row.page);
    }
    assert!(LEFT_OUT.iter().all(|(_, reason)| reason.len() > 20));
}

/// Sections named a namespace, a file or an image that no page made.
#[tokio::test]
async fn commands_of_pages_are_taken_by_a_real_api_server() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    let folder = how_to::folder(&["examples"]);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("rules")).unwrap();
    fs::write(at("rules/target.yaml"), TARGET).unwrap();
    // The binary under the names on the pages: `cargo run --` and the webhook of an author.
    fs::create_dir(at("bin")).unwrap();
    program(&at("bin/my-webhook"), MY_WEBHOOK);
    program(&at("bin/cargo"), "while [ \"$1\" != -- ]; do shift; done\nshift\nexec my-webhook \"$@\"\n");
    let here = Path::new(env!("CARGO_BIN_EXE_vestibule")).parent().unwrap().to_owned();

    let run = |script: &str| {
        let path = format!("PATH={}:{}:$PATH", at("bin").display(), here.display());
        let script = format!("set -e\nexport {path}\nexec 2>&1\n{script}");
        let mut shell = with_kubectl(&environment, &tools, &script);
        let done = shell.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{script}\n{printed}{}", done.status);
        printed
    };
    let spans = run("vestibule serve --help").contains("--otlp-endpoint");
    for row in ROWS.iter().filter(|row| matches!(row.held, Held::Here)) {
        let script = row.block(folder.path()).script_with(row.with);
        if spans || row.page != TRACES {
            run(&script);
        } else {
            let refused = run(&format!("! vestibule {}", script.trim_start_matches("my-webhook ")));
            assert!(refused.contains("built without `otel`"), "{refused}");
            leave_out_part("spans: this build has no feature `otel`");
        }
    }

    for (command, printed) in [
        ("kubectl -n webhooks get deployment injector -o jsonpath='{.metadata.name}'", "injector"),
        ("kubectl get injection log-forwarder -o jsonpath='{.spec.sidecars[0].name}'", "log-forwarder"),
        ("kubectl -n certificates get service injector -o jsonpath='{.spec.ports[0].port}'", "443"),
        ("kubectl get mutatingwebhookconfiguration injector -o jsonpath='{.metadata.name}'", "injector"),
        (
            "kubectl -n webhooks get configmap injector-logging -o jsonpath='{.metadata.name}'",
            "injector-logging",
        ),
        ("kubectl get namespace shop-front -o jsonpath='{.metadata.labels}'", "\"tidy\":\"true\""),
    ] {
        let found = run(command);
        assert!(found.contains(printed), "{command}: {found}");
    }
}

/// The binary with rules, as an author's webhook has its own handlers. `serve` ends when it serves.
const MY_WEBHOOK: &str = r#"
case "$1" in serve|manifests|try) case "$*" in *--rules*) ;; *) set -- "$@" --rules rules ;; esac ;; esac
[ "$1" = serve ] || exec vestibule "$@"
# Else the lines of the previous command could be read before this one opens the file.
rm -f serve.log
vestibule "$@" --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 2> serve.log &
server=$!
until grep -s '"serving"' serve.log; do
    kill -0 $server || { cat serve.log; exit 1; }
    sleep 0.1
done
# A shell starts background commands with SIGINT ignored: one that comes before the handler is lost.
for _ in 1 2 3; do kill -INT $server; sleep 0.3; done 2> /dev/null
wait $server
"#;

impl Row {
    /// The block on its page, after the files of the page are written to `folder`.
    fn block(&self, folder: &Path) -> Block {
        let blocks = Block::all(&read(self.page));
        for block in &blocks {
            if let Some(name) = block.file() {
                let file = folder.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, &block.text).unwrap();
            }
        }
        let mut blocks = blocks.into_iter();
        blocks.find(|block| block.has_commands() && self.begins(&block.text)).unwrap()
    }
}

fn program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn append_code(folder: &Path, files: &mut Vec<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            append_code(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// The page of an operator showed a manifest with `workspace = true` lines.
#[test]
fn the_operators_page_names_the_dependencies_of_its_package() {
    let names = |manifest: &str| -> BTreeSet<String> {
        let section = manifest.split("[dependencies]\n").nth(1).unwrap();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        let name = |line: &str| line.split_once(['.', ' ']).map(|(name, _)| name.to_owned());
        lines.filter_map(name).collect()
    };
    let page = read("examples/operator-identity/README.md");
    let told = Block::all(&page).into_iter().find(|block| block.info == "toml").unwrap().text;
    assert!(!told.contains("workspace"));
    assert_eq!(names(&told), names(&read("examples/operator-identity/Cargo.toml")));
    // No page names a crate of this repository by a version, as long as none is published.
    let named = pages().into_iter().chain(["crates/vestibule/src/lib.rs".to_owned()]).filter(|page| {
        let text = read(page);
        text.contains("vestibule = \"0")
            || text.contains("vestibule = { version")
            || text.contains("install vestibule-cli")
    });
    assert_eq!(named.collect::<Vec<_>>(), Vec::<String>::new());
}
