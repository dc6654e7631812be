//! Tests of the command line, and of the pages that name it.

use clap::{CommandFactory, Parser};

use crate::files;

#[test]
fn the_command_line_is_consistent() {
    super::Arguments::command().debug_assert();
}

/// The arguments of `bench`, `fire`, `soak` and `reload` are parsed by these programs, not here.
#[test]
fn every_task_that_a_page_names_can_be_typed() {
    let mut named = 0;
    for page in pages() {
        let text = files::read(&page).unwrap();
        for command in text.split(['`', '\n']).filter(|text| text.starts_with("cargo xtask")) {
            // Optional words are in brackets.
            let words = command.split_whitespace().skip(1).take_while(|word| !word.starts_with('['));
            let parsed = super::Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{}: {command}: {}", page.display(), parsed.err().unwrap());
            named += 1;
        }
    }
    assert!(named > 50, "{named} commands");
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut links = 0;
    for page in pages() {
        let text = files::read(&page).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        for link in targets.filter(|link| !link.contains(['<', ' ']) && !link.starts_with("http")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            assert!(target.exists(), "{}: {link}", page.display());
            let is_there = anchor.is_empty() || {
                let text = files::read(&target).unwrap();
                text.lines().any(|line| line.starts_with('#') && slug(line) == anchor)
            };
            assert!(is_there, "{}: {link}", page.display());
            links += 1;
        }
    }
    assert!(links > 100, "{links} links");
}

#[test]
fn files_that_the_tour_and_the_architecture_name_exist() {
    let workspace = crate::cargo::workspace();
    for page in ["docs/explanation/tour.md", "ARCHITECTURE.md"] {
        let text = files::read_here(page).unwrap();
        let files: Vec<_> = text.split('`').filter(|word| word.starts_with("crates/")).collect();
        assert!(files.len() > 5, "{page}: {files:?}");
        for file in files {
            assert!(workspace.join(file).exists(), "{page} names {file}, which does not exist");
        }
    }
}

/// `.ci/run` itself runs the other tasks.
#[test]
fn the_page_of_runs_has_a_dated_row_for_each_task_that_ci_does_not_run() {
    let page = files::read_here("docs/reference/runs.md").unwrap();
    let in_ci = ["test", "check", "walls", "controlplane", "smoke", "keys"];
    for task in super::Arguments::command().get_subcommands().filter(|task| !in_ci.contains(&task.get_name()))
    {
        let begin = format!("| `cargo xtask {}", task.get_name());
        let mut rows = page
            .lines()
            .filter(|line| line.strip_prefix(&begin).is_some_and(|rest| rest.starts_with(['`', ' '])));
        let row = rows.next().unwrap_or_else(|| panic!("no row for {}", task.get_name()));
        let date = row.split(" | ").nth(2).unwrap();
        assert!(date == "never" || date.parse::<jiff::civil::Date>().is_ok(), "{row}");
    }
}

/// A module that was renamed would lose its level.
#[test]
fn modules_of_log_components_exist() {
    let crates = crate::cargo::workspace().join("crates");
    let read = |file: &str| files::read(&crates.join(file)).unwrap();
    let (components, telemetry) = (read("command/src/logs/component.rs"), read("vestibule/src/telemetry.rs"));
    let targets: Vec<_> = components.split('"').filter(|word| word.starts_with("vestibule")).collect();
    assert!(targets.len() > 5, "{targets:?}");
    for target in targets {
        let (of, module) = target.split_once("::").unwrap_or((target, "lib"));
        let of = of.strip_prefix("vestibule_").unwrap_or("vestibule");
        let file = crates.join(of).join("src").join(module.replace("::", "/")).with_extension("rs");
        let is_given_by_name = telemetry.contains(&format!("&str = \"{target}\""));
        assert!(file.is_file() || is_given_by_name, "{target}: there is no {}", file.display());
    }
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let letters = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn pages() -> Vec<std::path::PathBuf> {
    let workspace = crate::cargo::workspace();
    let mut pages: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "fuzz/README.md"]
            .map(|page| workspace.join(page))
            .into();
    pages.extend(crate::book::pages().unwrap().iter().map(|page| workspace.join("docs").join(page)));
    pages
}
