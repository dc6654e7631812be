//! Checks the tables of docs/reference: each has all rows, and names tests that exist and run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rows of the contract; rows about certificates are in another table.
const ROWS: &[u8] = &[
    1, 3, 4, 6, 7, 9, 10, 11, 12, 15, 16, 20, 21, 22, 33, 34, 36, 38, 39, 40, 41, 42, 46, 48, 49, 50, 51, 53,
    54, 56, 57, 59, 60, 61, 63, 64, 65, 67, 68, 69, 71, 72, 73, 74, 76, 77, 78, 79, 80, 82, 83, 84,
];

/// The rows of the injector's table; missing numbers were withdrawn or are examples.
const CASES: &[u8] =
    &[1, 2, 3, 5, 6, 9, 11, 12, 14, 16, 17, 19, 21, 22, 24, 25, 26, 27, 28, 30, 31, 33, 35, 36];

#[test]
fn the_table_of_the_contract_is_complete_and_names_tests_that_exist() {
    let rows = rows(&page("contract.md"), &Tests::of_the_workspace());
    let numbers: BTreeSet<u8> = rows.iter().filter_map(|(row, _)| row.parse().ok()).collect();
    assert_eq!(numbers, ROWS.iter().copied().collect(), "missing or unknown rows");
}

#[test]
fn the_tables_of_injection_are_complete_and_name_tests_of_their_numbers() {
    let rows = rows(&page("injection-cases.md"), &Tests::of_the_workspace());
    let cases = CASES.iter().map(|row| (row.to_string(), format!("row_{row:02}_")));
    let defects = (1..=18).map(|defect| (format!("D{defect}"), format!("d{defect:02}_")));
    for (row, prefix) in cases.chain(defects) {
        let names = rows.iter().filter(|(found, _)| *found == row).flat_map(|(_, names)| names);
        assert!(names.into_iter().any(|name| name.starts_with(&prefix)), "row {row} names no {prefix}...");
    }
    let numbered = rows.iter().filter(|(row, _)| row != "–").count();
    assert_eq!(numbered, CASES.len() + 18, "unknown rows");
}

/// The fire cases that need no second machine.
#[test]
fn the_tables_of_fire_are_complete_and_name_tests_and_cases_that_exist() {
    let (page, tests, commands) = (page("fire.md"), Tests::of_the_workspace(), Commands::of_the_workspace());
    let cells: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).collect();
    let faults = (1..=21).chain([26]).map(|number| format!("F{number:02}"));
    for row in faults.chain((1..=18).map(|number| format!("A{number:02}"))) {
        let Some((_, rest)) = cells.iter().find(|(found, _)| *found == row) else { panic!("no row {row}") };
        let held = rest.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        let named: Vec<_> = held.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "nothing holds {row}");
        for name in named {
            let holds = match name.strip_prefix("cargo xtask ") {
                Some(command) => commands.know(command),
                None => tests.hold(name, rest),
            };
            assert!(holds, "{row} names {name}, which does not exist, or is not run");
        }
    }
}

#[test]
fn every_threat_names_tests_and_cases_that_exist() {
    let text = fs::read_to_string(workspace().join("SECURITY.md")).unwrap();
    let (_, table) = text.split_once("## Threats").unwrap();
    let rows = rows(table, &Tests::of_the_workspace());
    assert!(rows.len() > 18, "{rows:?}");
    let known = Commands::of_the_workspace();
    let commands = table.split('`').filter_map(|quoted| quoted.strip_prefix("cargo xtask "));
    let missing: Vec<_> = commands.filter(|command| !known.know(command)).collect();
    assert!(missing.is_empty(), "no such commands: {missing:?}");
}

#[test]
fn every_promise_is_held_by_tests_that_exist() {
    let (page, known, tests) = (page("promises.md"), Commands::of_the_workspace(), Tests::of_the_workspace());
    let rows = rows(&page, &tests);
    assert!(rows.len() > 20, "{rows:?}");
    let commands = page.split('`').filter_map(|quoted| quoted.strip_prefix("cargo xtask "));
    let missing: Vec<_> = commands.filter(|command| !known.know(command)).collect();
    assert!(missing.is_empty(), "no such commands: {missing:?}");
    let selections = page.split('`').filter_map(|quoted| quoted.strip_prefix("cargo test -p "));
    let filters: Vec<_> = selections.flat_map(filters).collect();
    assert!(filters.len() > 15, "{filters:?}");
    let files = rust_files();
    let missing: Vec<_> = filters.into_iter().filter(|filter| !tests.match_filter(filter, &files)).collect();
    assert!(missing.is_empty(), "they select no test: {missing:?}");
}

/// The filters of tests in the arguments of `cargo test -p`, after the package.
fn filters(arguments: &str) -> impl Iterator<Item = &str> {
    arguments.split_whitespace().skip(1).filter(|word| !word.starts_with('-'))
}

#[test]
fn a_filter_that_selects_no_test_does_not_count() {
    assert_eq!(filters("server --lib -- f08 deadline").collect::<Vec<_>>(), ["f08", "deadline"]);
    let (tests, files) = (Tests::of("#[test]\nfn row_80_refuses() {\n"), ["tests/it/watching.rs".into()]);
    let matched = ["row_80", "watching", "row_81"].map(|filter| tests.match_filter(filter, &files));
    assert_eq!(matched, [true, true, false]);
}

#[test]
fn every_test_in_the_table_of_faults_exists() {
    let (page, tests) = (page("rotation-faults.md"), Tests::of_the_workspace());
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| # "));
    let cells = rows.filter_map(|row| Some((row, row.trim_end_matches(['|', ' ']).rsplit('|').next()?)));
    let quoted =
        cells.flat_map(|(row, cell)| cell.split('`').skip(1).step_by(2).map(move |word| (row, word)));
    let names: Vec<_> = quoted.filter(|(_, word)| !word.contains(' ')).collect();
    assert!(names.len() > 30, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|(row, name)| !tests.hold(name, row)).collect();
    assert!(missing.is_empty(), "no such tests that run: {missing:?}");
    let known = Commands::of_the_workspace();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let commands = rows.flat_map(|row| row.split('`')).filter_map(|word| word.strip_prefix("cargo xtask "));
    let missing: Vec<_> = commands.filter(|command| !known.know(command)).collect();
    assert!(missing.is_empty(), "no such commands: {missing:?}");
}

/// The subcommands of `cargo xtask`, and the cases of `fire` and `soak`.
struct Commands {
    tasks: BTreeSet<String>,
    /// Of `fire`.
    cases: BTreeSet<String>,
    /// Of `soak --case`.
    rows: BTreeSet<String>,
}

impl Commands {
    fn of_the_workspace() -> Self {
        let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
        let cases = read("tests/fire/src/cases.rs");
        let cases = cases.split("case(\"").skip(1).map(|rest| rest.split_once('"').unwrap().0.to_owned());
        Self {
            tasks: variants(&read("xtask/src/main.rs"), "Task"),
            cases: cases.collect(),
            rows: variants(&read("tests/fire/src/options.rs"), "Case"),
        }
    }

    /// Whether the command, without `cargo xtask `, exists.
    fn know(&self, command: &str) -> bool {
        let words: Vec<_> = command.split_whitespace().filter(|word| *word != "--long").collect();
        match words[..] {
            ["fire", ref cases @ ..] => {
                !cases.is_empty() && cases.iter().all(|case| self.cases.contains(*case))
            }
            ["soak", "--case", row] => self.rows.contains(row),
            ["soak", "--help"] | ["reload", "--release"] => true,
            [task] => self.tasks.contains(task),
            _ => false,
        }
    }
}

/// The variants of an enum, as clap spells them: the first words at the first indentation of its block.
fn variants(code: &str, name: &str) -> BTreeSet<String> {
    let (_, block) = code
        .split_once(&format!("\nenum {name} {{\n"))
        .or_else(|| code.split_once(&format!("\npub enum {name} {{\n")))
        .unwrap();
    let (block, _) = block.split_once("\n}").unwrap();
    let lines = block.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    names.filter_map(|line| line.split([',', ' ', '(']).next()).map(str::to_lowercase).collect()
}

#[test]
fn a_command_that_does_not_exist_does_not_count() {
    let known = Commands::of_the_workspace();
    for command in [
        "fire F01",
        "fire --long A03 A04 steady",
        "soak --case rows2",
        "soak --help",
        "soak",
        "model",
        "image",
    ] {
        assert!(known.know(command), "{command}");
    }
    for command in [
        "fire",
        "fire F99",
        "fire F01 F99",
        "soak --case rows9",
        "soak --rotate",
        "soke",
        "model --bigger",
        "",
    ] {
        assert!(!known.know(command), "{command}");
    }
}

/// The tests of a piece of code, by name: whether each is ignored.
struct Tests(BTreeMap<String, bool>);

impl Tests {
    fn of_the_workspace() -> Self {
        Self::of(&code())
    }

    /// Functions with a test attribute in the lines above. Of tests with the same name, all have to be ignored to count as ignored.
    fn of(code: &str) -> Self {
        let (mut tests, mut attributes) = (BTreeMap::new(), Vec::new());
        for line in code.lines().map(str::trim) {
            if line.starts_with("#[") {
                attributes.push(line);
            } else if !line.starts_with("//") {
                let is = |what: &str| attributes.iter().any(|attribute| attribute.contains(what));
                if let Some((_, name)) = line.split_once("fn ").filter(|_| is("test]") || is("test("))
                    && let Some((name, _)) = name.split_once('(')
                {
                    let ignored = tests.entry(name.to_owned()).or_insert(true);
                    *ignored &= is("#[ignore");
                }
                attributes.clear();
            }
        }
        Self(tests)
    }

    /// Whether the test exists and runs: by default, or by a command in the row.
    fn hold(&self, name: &str, row: &str) -> bool {
        self.0.get(name).is_some_and(|ignored| !ignored || row.contains("-- --ignored"))
    }

    /// Whether the filter is part of a test's name, or the module of one of the `files`.
    fn match_filter(&self, filter: &str, files: &[PathBuf]) -> bool {
        let is_module = |file: &PathBuf| file.file_stem().is_some_and(|stem| stem == filter);
        self.0.keys().any(|name| name.contains(filter)) || files.iter().any(is_module)
    }
}

#[test]
fn an_ignored_test_counts_only_if_the_row_has_the_command_to_run_it() {
    let tests = Tests::of(
        "#[test]\nfn runs() {\n#[tokio::test(flavor = \"multi_thread\")]\n#[ignore = \"slow\"]\n/// Why.\nasync fn waits() {\nfn helps() {\n",
    );
    let held = ["runs", "waits", "helps", "is_not"].map(|name| tests.hold(name, "| 1 | what |"));
    assert_eq!(held, [true, false, false, false]);
    assert!(tests.hold("waits", "| 1 | by hand: `cargo test -p contract -- --ignored` |"));
}

/// The rows of all tables of a page, each with the tests in its last cell. Panics unless all of them exist and run.
fn rows(page: &str, tests: &Tests) -> Vec<(String, Vec<String>)> {
    let mut rows = Vec::new();
    for line in page.lines() {
        let Some((row, rest)) = line.strip_prefix("| ").and_then(|line| line.split_once(" | ")) else {
            continue;
        };
        if row == "#" {
            continue;
        }
        let held = rest.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        let names: Vec<_> = held.split('`').skip(1).step_by(2).filter(|word| !word.contains(' ')).collect();
        assert!(!names.is_empty(), "row {row} names no test");
        let missing: Vec<_> = names.iter().filter(|name| !tests.hold(name, rest)).collect();
        assert!(missing.is_empty(), "no such tests that run: {missing:?}");
        rows.push((row.to_owned(), names.into_iter().map(str::to_owned).collect()));
    }
    rows
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(workspace().join("docs/reference").join(name)).unwrap()
}

/// All code of the workspace.
fn code() -> String {
    rust_files().iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The files of all code of the workspace.
fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["crates", "examples", "tests", "xtask"] {
        append_rust_files(&workspace().join(folder), &mut files);
    }
    files
}

/// Appends the Rust files below `folder`.
pub(crate) fn append_rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in entries {
        if path.is_dir() {
            append_rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
