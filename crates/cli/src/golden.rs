//! `test`: runs golden cases of rules and objects.

mod case;
mod check;
mod report;
mod subset;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use vestibule_command::{CommandError, colour};
use vestibule_rules::{Diagnostic, yaml};

use crate::render::Format;
use crate::{Failure, files, print, rules};
use case::Suite;

/// Runs golden cases: objects and their expected results.
///
/// A file of cases names its rules, relative to itself. `contains` is a part of the result: maps by key, lists by items that
/// occur in this order. `result` is the whole result, inline or in a file, which `--update` writes. Every case is evaluated
/// twice: the second time nothing may change. In a folder, files without `cases` are left out.
///
/// The exit code is 1 if a case fails, and 2 if a file cannot be read.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule test examples/rules/tests
  vestibule test cases.yaml --update

A file of cases:
  rules: ../nginx.yaml             # a file or a folder, relative to this file
  cases:
  - name: a pod that asks
    namespace: {name: team-a, labels: {sidecar-injector: enabled}, annotations: {}}
    object: {apiVersion: v1, kind: Pod, ...}      # or `file: pod.yaml`
    operation: CREATE                             # the default
    expect:
      rules: {nginx: applied}      # applied, unchanged, denied, or a reason such as not_opted_in
      contains: {spec: {...}}
      result: nginx.golden.yaml
      warnings: [part of a text]   # exactly as many as there are
      denied: part of the message")]
pub(crate) struct Arguments {
    /// Files of cases, or folders of them.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Writes the results into the files that `result` names.
    #[arg(long)]
    update: bool,
    /// The output format.
    #[arg(long, short, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// When to colour. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: colour::When,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let suites = suites(&arguments.paths)?;
    let mut rule_sets = BTreeMap::new();
    let mut outcomes = Vec::new();
    for suite in &suites {
        let rules = match rule_sets.entry(suite.rules.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(rules::load(std::slice::from_ref(&suite.rules))?),
        };
        for case in &suite.cases {
            outcomes.push(check::check(rules, suite, case, arguments.update)?);
        }
    }
    let report = report::Report { outcomes: &outcomes, palette: arguments.color.palette() };
    print(&arguments.output.render(|| Ok(report.text()), || Ok(report.json()))?)?;
    Ok(ExitCode::from(u8::from(outcomes.iter().any(|outcome| !outcome.failures.is_empty()))))
}

fn suites(paths: &[PathBuf]) -> Result<Vec<Suite>, Failure> {
    let (mut suites, mut findings) = (Vec::new(), Vec::new());
    for path in paths {
        for (file, text) in files::read(path)? {
            match read(&file, &text, !path.is_dir()) {
                Ok(read) => suites.extend(read),
                Err(found) => findings.extend(found),
            }
        }
    }
    if !findings.is_empty() {
        return Err(Failure::Findings(findings));
    }
    match suites.iter().all(|suite| suite.cases.is_empty()) {
        true => Err(CommandError::input("there is no case in the files given").into()),
        false => Ok(suites),
    }
}

fn read(file: &Path, text: &str, is_named: bool) -> Result<Vec<Suite>, Vec<Diagnostic>> {
    let documents = yaml::read(&file.display().to_string(), text)?;
    let (mut suites, mut findings) = (Vec::new(), Vec::new());
    for document in documents.iter().filter(|document| is_named || document.root().get("cases").is_some()) {
        match case::read(document, file) {
            Ok(suite) => suites.push(suite),
            Err(found) => findings.extend(found),
        }
    }
    if findings.is_empty() { Ok(suites) } else { Err(findings) }
}
