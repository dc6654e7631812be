//! `lint`: errors, warnings and hints about rules.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use vestibule_command::{CommandError, namespace};
use vestibule_injector::files::printable_path;
use vestibule_injector::{LoadError, registration};
use vestibule_rules::diagnostic::code::{REQUIRED_BROADLY, REQUIRED_EVERYWHERE};
use vestibule_rules::{Diagnostic, RuleSet, Severity, diagnostic, rename};

use crate::render::counted;
use crate::{Failure, files, print, rules, say};

/// Checks rules: errors, warnings and hints, each with file, line and column.
///
/// The exit code is 0 if there are only hints, 1 if there are errors or warnings (with `--strict`, hints too), and 2 if a file
/// cannot be read.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule lint examples/rules
  vestibule lint rules/ -o sarif > rules.sarif
  vestibule lint --fix rules/
  kubectl kustomize rules/overlay | vestibule lint -
  vestibule explain VST0121    # what a code means")]
pub(crate) struct Arguments {
    /// Files of rules, folders of them (*.yaml, *.yml, *.json), or `-` for stdin, all for one injector. ConfigMap manifests
    /// are read for the rules in them, at their lines.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The output format.
    #[arg(long, short, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// The injector's own namespace, if it is known: some rules may not match it.
    #[arg(long, short, value_name = "NS", value_parser = namespace)]
    namespace: Option<String>,
    /// Exits with 1 for hints too.
    #[arg(long)]
    strict: bool,
    /// Rewrites former names of fields (VST0124) in the files before it checks them. Comments and everything else keep their
    /// spelling. Rules in ConfigMap manifests are rewritten if their text is in lines after `|`.
    #[arg(long)]
    fix: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the lines.
    Text,
    /// A list of findings.
    Json,
    /// The same as YAML.
    Yaml,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    rules::refuse_stdin_twice(&[&arguments.paths])?;
    if arguments.fix {
        arguments.paths.iter().try_for_each(|path| fix(path))?;
    }
    let findings = match vestibule_injector::load_all(&arguments.paths) {
        Ok(rules) => arguments.findings(rules),
        Err(LoadError::Rules(found)) => found,
        Err(other) => return Err(CommandError::input(other).into()),
    };
    print(&match arguments.output {
        Format::Text => text(&findings),
        Format::Json => diagnostic::json(&findings) + "\n",
        Format::Yaml => crate::render::yaml(&diagnostic::json(&findings))?,
        Format::Sarif => diagnostic::sarif(&findings) + "\n",
    })?;
    let counts = |finding: &Diagnostic| arguments.strict || finding.severity() != Severity::Hint;
    Ok(ExitCode::from(u8::from(findings.iter().any(counts))))
}

/// Rewrites the files of `path`.
fn fix(path: &Path) -> Result<(), CommandError> {
    if files::is_stdin(path) {
        return Err(CommandError::input("--fix rewrites files, and `-` is stdin"));
    }
    for (file, text) in files::read(path)? {
        let fixed = rename::fixed(&text);
        if fixed != text {
            let name = printable_path(&file);
            std::fs::write(&file, fixed).map_err(|error| {
                // The disk may be full for the longer text alone, and the file is cut off now.
                let _lost = std::fs::write(&file, &text);
                CommandError::input(format_args!("cannot write {name}: {error}"))
            })?;
            say(format_args!("fixed {name}"));
        }
    }
    Ok(())
}

impl Arguments {
    /// All findings, with those for which a cluster refuses the rules.
    fn findings(&self, rules: RuleSet) -> Vec<Diagnostic> {
        let rules = match &self.namespace {
            Some(namespace) => rules.with_own_namespace(namespace),
            None => rules,
        };
        let refused = registration::entries(&rules).err().unwrap_or_default();
        let mut findings = rules.warnings().to_vec();
        findings.extend(rules.lint());
        if refused.iter().any(|finding| *finding.code() == REQUIRED_EVERYWHERE) {
            // The error replaces the warning about the same rule.
            findings.retain(|finding| *finding.code() != REQUIRED_BROADLY);
        }
        findings.extend(refused);
        findings.extend(rules.prove().err().into_iter().flatten());
        findings
    }
}

fn text(findings: &[Diagnostic]) -> String {
    let mut text: String = findings.iter().map(|finding| format!("{finding}\n\n")).collect();
    let count = |severity: Severity| {
        let number = findings.iter().filter(|finding| finding.severity() == severity).count();
        (number > 0).then(|| counted(number, severity.as_str()))
    };
    let counts = [Severity::Error, Severity::Warning, Severity::Hint].into_iter().filter_map(count);
    let counts: Vec<_> = counts.collect();
    text.push_str(if counts.is_empty() { "nothing found" } else { "" });
    text + &counts.join(", ") + "\n"
}
