//! The packages whose tests run, their programs, and the expected time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::metadata::{Metadata, Package};
use crate::{cargo, files};

/// Seconds and name of each program of earlier runs, one a line.
const DURATIONS: &str = "test-durations.txt";
/// Measured on two cores.
const TOTAL: &str = "about 10 minutes on two cores when everything is built, 25 when nothing is";

/// The longest programs with their seconds on two cores. A machine without an earlier run begins with them, so that none of them
/// runs alone at the end.
const LONGEST: [(&str, u64); 4] = [("cli it", 410), ("fire it", 220), ("cluster it", 150), ("model it", 75)];

/// The selected packages and the known durations of their programs.
pub(super) struct Plan {
    /// Cargo's arguments that select the packages.
    pub(super) selection: Vec<String>,
    /// Package identifiers are paths or names, so programs are assigned by manifest.
    packages: Vec<Selected>,
    durations: BTreeMap<String, Duration>,
    durations_file: PathBuf,
}

struct Selected {
    /// The last folder of its path: `patch`, `cluster`.
    name: String,
    manifest: PathBuf,
    /// Its tests start an API server.
    on_a_cluster: bool,
    has_library: bool,
}

/// An executable with tests.
pub(super) struct Program {
    /// `patch it`: package and target.
    pub(super) name: String,
    pub(super) executable: PathBuf,
    /// The folder of the package.
    pub(super) folder: PathBuf,
    /// The time of the last run, or a guess.
    pub(super) expected: Duration,
    /// Its tests start an API server.
    pub(super) on_a_cluster: bool,
}

impl Plan {
    /// All packages, or those that `parts` name by folder or package name.
    ///
    /// # Errors
    /// No package has one of the names.
    pub(super) fn new(workspace: &Metadata, parts: &[String]) -> anyhow::Result<Self> {
        let all: Vec<_> = workspace.packages.iter().map(Selected::of).collect();
        let names: Vec<_> = all.iter().map(|package| package.name.clone()).collect();
        for part in parts {
            if !names.contains(part) {
                bail!("there is no part `{part}`; there are {}", names.join(", "));
            }
        }
        let mut selection = Vec::new();
        for (package, selected) in workspace.packages.iter().zip(&all) {
            if parts.contains(&selected.name) {
                selection.extend(["--package".to_owned(), package.name.clone()]);
            }
        }
        if parts.is_empty() {
            selection.push("--workspace".to_owned());
        }
        let packages = all.into_iter().filter(|one| parts.is_empty() || parts.contains(&one.name)).collect();
        let durations_file = workspace.target_directory.join(DURATIONS);
        let durations = std::fs::read_to_string(&durations_file).map(|text| read(&text)).unwrap_or_default();
        Ok(Self { selection, packages, durations, durations_file })
    }

    /// The parts that will run, and the expected time.
    pub(super) fn text(&self) -> String {
        let names: Vec<_> = self.packages.iter().map(|package| &*package.name).collect();
        let is_selected = |program: &str| names.iter().any(|name| program.split(' ').next() == Some(*name));
        let times: Vec<Duration> =
            self.durations.iter().filter(|(name, _)| is_selected(name)).map(|(_, time)| *time).collect();
        let expected = if times.is_empty() {
            format!("no earlier run is known; all parts take {TOTAL}")
        } else {
            // Two programs run at a time.
            let halved = times.iter().sum::<Duration>() / 2;
            let longest = times.iter().max().copied().unwrap_or_default();
            format!("by the last run about {} s, plus building", halved.max(longest).as_secs())
        };
        format!(
            "parts: {}\ntime: {expected}\none part alone: `cargo xtask test {}`",
            names.join(", "),
            names.first().copied().unwrap_or("patch")
        )
    }

    /// Builds the test programs, in the order of their expected time, the longest first.
    ///
    /// # Errors
    /// They do not compile.
    pub(super) fn build(&self) -> anyhow::Result<Vec<Program>> {
        let mut command = cargo::command(&["test", "--no-run", "--bins", "--tests", "--examples"]);
        // Cargo refuses `--lib` for packages without a library.
        command.args(self.has_library().then_some("--lib"));
        command.args(&self.selection).arg("--message-format=json-render-diagnostics");
        let messages = cargo::output(&mut command).context("the tests do not compile")?;
        let mut programs: Vec<_> = messages.lines().filter_map(|line| self.program(line)).collect();
        programs.sort_by_key(|program| std::cmp::Reverse(program.expected));
        Ok(programs)
    }

    pub(super) fn has_library(&self) -> bool {
        self.packages.iter().any(|package| package.has_library)
    }

    /// The program of a line of `--message-format=json`.
    fn program(&self, message: &str) -> Option<Program> {
        let artifact: Value = serde_json::from_str(message).ok()?;
        let executable =
            artifact["executable"].as_str().filter(|_| artifact["profile"]["test"] == true)?.into();
        let manifest = Path::new(artifact["manifest_path"].as_str()?);
        let package = self.packages.iter().find(|package| package.manifest == manifest)?;
        let name = format!("{} {}", package.name, artifact["target"]["name"].as_str()?);
        let usual = if package.on_a_cluster { 60 } else { 5 };
        let guess =
            LONGEST.iter().find(|(longest, _)| *longest == name).map_or(usual, |(_, seconds)| *seconds);
        let guess = Duration::from_secs(guess);
        let expected = self.durations.get(&name).copied().unwrap_or(guess);
        let folder = package.manifest.parent()?.to_owned();
        Some(Program { name, executable, folder, expected, on_a_cluster: package.on_a_cluster })
    }

    /// Writes the times down for the next plan.
    pub(super) fn remember(&self, durations: &[(String, Duration)]) -> anyhow::Result<()> {
        let mut all = self.durations.clone();
        all.extend(durations.iter().cloned());
        let line = |(name, time): (&String, &Duration)| format!("{:.1} {name}\n", time.as_secs_f64());
        let text: String = all.iter().map(line).collect();
        files::write(&self.durations_file, text)
    }
}

impl Selected {
    fn of(package: &Package) -> Self {
        let manifest = package.manifest_path.clone();
        let folder = manifest.parent().and_then(|folder| folder.file_name());
        let name = folder.map_or_else(|| package.name.clone(), |name| name.to_string_lossy().into_owned());
        let on_a_cluster = package.dependencies.iter().any(|other| other.name == "vestibule-testenv");
        let has_library = package.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "lib"));
        Self { name, manifest, on_a_cluster, has_library }
    }
}

fn read(text: &str) -> BTreeMap<String, Duration> {
    let line = |line: &str| {
        let (seconds, name) = line.split_once(' ')?;
        let time = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
        Some((name.to_owned(), time))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_folder_and_an_unknown_one_is_refused_with_the_list() {
        let workspace = Metadata::of_workspace().unwrap();
        let plan = Plan::new(&workspace, &["patch".to_owned(), "cluster".to_owned()]).unwrap();
        assert_eq!(plan.packages.len(), 2);
        assert_eq!(plan.selection.iter().filter(|word| *word == "--package").count(), 2);
        assert!(plan.text().contains("cargo xtask test"));
        let refused = Plan::new(&workspace, &["patches".to_owned()]).err().unwrap().to_string();
        assert!(refused.contains("no part `patches`") && refused.contains("patch, "), "{refused}");
        assert_eq!(Plan::new(&workspace, &[]).unwrap().selection, ["--workspace"]);
    }

    #[test]
    fn every_part_has_a_name_of_its_own() {
        let workspace = Metadata::of_workspace().unwrap();
        let mut names: Vec<_> = workspace.packages.iter().map(|package| Selected::of(package).name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }

    #[test]
    fn a_program_without_a_library_is_a_part() {
        let workspace = Metadata::of_workspace().unwrap();
        let has_library = |part: &str| Plan::new(&workspace, &[part.to_owned()]).unwrap().has_library();
        assert!(has_library("patch") && !has_library("cli"));
    }

    #[test]
    fn durations_are_read_as_they_are_written() {
        let known = read("12.5 patch it\nrubbish\n3.0 rules vestibule_rules\n");
        assert_eq!(known["patch it"], Duration::from_millis(12_500));
        assert_eq!(known.len(), 2);
    }
}
