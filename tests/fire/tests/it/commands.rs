//! The `cargo xtask soak`, `reload` and `fire` commands in the documentation parse.

use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind::DisplayHelp;
use fire::{Options, cases, reload};

#[test]
fn every_soak_reload_and_fire_command_in_a_page_parses() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<_> =
        ["README.md", "COMPARE.md", "CONTRIBUTING.md"].map(|page| workspace.join(page)).into();
    collect(&workspace.join("docs"), &mut pages);
    let mut named = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap().replace("\\\n", " ");
        for command in text.split(['`', '\n']).filter_map(|text| text.strip_prefix("cargo xtask ")) {
            let understood = is_understood(command);
            assert!(understood.is_ok(), "{}: cargo xtask {command}: {understood:?}", page.display());
            named += usize::from(understood == Ok(true));
        }
    }
    assert!(named > 40, "{named} commands");
}

#[test]
fn an_invalid_command_is_detected() {
    for command in [
        "soak --case rows9",
        "soak --rotation 1",
        "fire F99",
        "fire F01 --case",
        "reload --version 3",
        "soak [--lags 3]",
    ] {
        assert!(is_understood(command).is_err(), "{command}");
    }
    assert_eq!(is_understood("model --larger"), Ok(false), "another program's");
}

/// Whether the command is a soak, reload or fire command; the error says why it does not parse.
fn is_understood(command: &str) -> Result<bool, String> {
    // Optional arguments stand in brackets, and a word in capitals stands for a number.
    let words = command.split_whitespace().map(|word| word.trim_matches(['[', ']']));
    let is_number = |word: &str| word.chars().all(|letter| letter.is_ascii_uppercase());
    let words: Vec<_> = words.map(|word| if is_number(word) { "1" } else { word }).collect();
    let read = |parsed: Result<(), clap::Error>| match parsed {
        Err(error) if error.kind() != DisplayHelp => Err(error.to_string()),
        _ => Ok(true),
    };
    match words[..] {
        ["soak", ref arguments @ ..] => read(Options::of(arguments).map(drop)),
        ["reload", ref arguments @ ..] => {
            // `--release` is an argument of xtask.
            let arguments = arguments.iter().copied().filter(|argument| *argument != "--release");
            read(reload::Options::try_parse_from(["reload"].into_iter().chain(arguments)).map(drop))
        }
        ["fire", ref arguments @ ..] => {
            let flags = ["--long", "--list", "--help"];
            let mut names = arguments.iter().filter(|argument| !flags.contains(argument));
            names.try_for_each(|name| cases::find(name).map(drop)).map(|()| true)
        }
        _ => Ok(false),
    }
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}
