//! The tutorial tells the truth: its files are this package's, and its commands print what it says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../../docs/tutorial/first-webhook.md");

const FILES: [&str; 4] = ["Cargo.toml", "src/lib.rs", "src/main.rs", "tests/webhook.rs"];

/// A fenced block: what stands behind the three backticks, and the text.
struct Block<'p> {
    info: &'p str,
    text: String,
}

#[test]
fn the_files_of_the_page_are_the_files_of_the_package() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in &FILES[1..] {
        assert_eq!(told(file), fs::read_to_string(package.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn the_manifest_of_the_page_names_the_dependencies_of_the_package() {
    let package = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    assert_eq!(dependencies(&told("Cargo.toml")), dependencies(&package));
}

#[test]
fn the_commands_of_the_page_print_its_output() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for block in blocks().filter(|block| block.info.starts_with("json ")) {
        let (_, name) = block.info.split_once(' ').unwrap();
        fs::write(folder.join(name), block.text).unwrap();
    }
    let mut ran = 0;
    for block in blocks().filter(|block| block.info == "console") {
        for step in block.text.split("$ ").skip(1) {
            let (command, printed) = step.split_once('\n').unwrap();
            let Some(arguments) = command.strip_prefix("cargo run --quiet -- ") else { continue };
            if arguments.contains('|') {
                continue;
            }
            ran += 1;
            let output = run(folder, arguments);
            let mut rest = output.as_str();
            for line in printed.lines().filter(|line| !line.is_empty() && *line != "...") {
                let Some((_, after)) = rest.split_once(line) else {
                    panic!("{command}\nhas no `{line}` in\n{rest}")
                };
                rest = after;
            }
        }
    }
    assert!(ran > 2, "{ran} commands of the page were run");
}

/// Cargo's files of a new package, replaced by those of the page. [`cargo_test_of_the_pages_is_of_this_package`] is about what
/// they compile to.
#[test]
fn the_files_of_the_page_are_a_package_in_a_new_folder() {
    let folder = std::env::temp_dir().join(format!("tidy-pods-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    std::os::unix::fs::symlink(&workspace, folder.join("vestibule")).unwrap();
    let package = folder.join("tidy-pods");
    let run = |script: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("set -e\n{script}")])
            .current_dir(&folder)
            .env("CARGO_NET_OFFLINE", "true");
        let path = format!(
            "{}:{}",
            Path::new(env!("CARGO")).parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let done = shell.env("PATH", path).output().unwrap();
        let [out, err] = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(done.status.success(), "{script}\n{err}");
        out
    };

    let new = blocks().find(|block| block.info == "console").unwrap().text;
    let (commands, shown): (Vec<_>, Vec<_>) = new.lines().partition(|line| line.starts_with("$ "));
    let commands: Vec<_> = commands.iter().map(|line| line.trim_start_matches("$ ")).collect();
    let printed = run(&commands.join("\n"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&printed), words(&shown.join(" ")));

    assert!(package.join("src/lib.rs").is_file());
    for file in FILES {
        fs::create_dir_all(package.join(file).parent().unwrap()).unwrap();
        fs::write(package.join(file), told(file)).unwrap();
    }
    // The versions that this workspace uses, because the network must not be needed.
    fs::copy(workspace.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    // Packages for other systems have perhaps never been downloaded.
    let host = "$(rustc -vV | sed -n 's/^host: //p')";
    let targets = run(&format!("cd tidy-pods && cargo metadata --format-version 1 --filter-platform {host}"));
    fs::remove_dir_all(folder).unwrap();
    for target in ["src/lib.rs", "src/main.rs", "tests/webhook.rs"] {
        assert!(targets.contains(&format!("/tidy-pods/{target}\"")), "{target}");
    }
}

/// That command runs this very test.
#[test]
fn cargo_test_of_the_pages_is_of_this_package() {
    let typed = |page: &'static str| {
        let lines = page.lines().map(|line| line.trim_start_matches("$ "));
        lines.filter(|line| line.starts_with("cargo test")).collect::<Vec<_>>()
    };
    assert_eq!(typed(PAGE), ["cargo test"]);
    assert_eq!(typed(include_str!("../README.md")), [concat!("cargo test -p ", env!("CARGO_PKG_NAME"))]);
}

/// Standard output and error of the webhook's binary, in a shell's order of reading: the output first.
fn run(folder: &Path, arguments: &str) -> String {
    let (arguments, input) = arguments.split_once(" < ").unwrap_or((arguments, ""));
    let input = match input {
        "" => Stdio::null(),
        file => fs::File::open(folder.join(file)).unwrap().into(),
    };
    let output = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_tidy-pods")))
        .args(arguments.split(' '))
        .stdin(input)
        .current_dir(folder)
        .output()
        .unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
}

/// The names below `[dependencies]` and `[dev-dependencies]`, with the features that are asked for.
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let sections = manifest
        .split("\n[")
        .filter(|section| section.split_once(']').is_some_and(|(name, _)| name.ends_with("dependencies")));
    let lines = sections.flat_map(|section| section.lines().skip(1)).filter(|line| line.contains('='));
    let parts = lines.map(|line| {
        let (name, rest) = line.split_once('=').unwrap();
        let features =
            rest.split_once(" features = ").map_or("", |(_, features)| features.trim_end_matches([' ', '}']));
        // Default features that this workspace turns off.
        (name.trim().trim_end_matches(".workspace").to_owned(), features.replace("[\"cli\"]", ""))
    });
    parts.collect()
}

/// The text of a file, which may be told in several blocks.
fn told(file: &str) -> String {
    let parts: Vec<_> = blocks().filter(|block| block.info.ends_with(file)).map(|block| block.text).collect();
    parts.join("\n")
}

fn blocks() -> impl Iterator<Item = Block<'static>> {
    let fenced = PAGE.split("\n```").skip(1).step_by(2);
    fenced.map(|block| {
        let (info, text) = block.split_once('\n').unwrap();
        Block { info, text: format!("{text}\n") }
    })
}
