//! Rules from files.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use vestibule::keys;
use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Diagnostic, RuleSet};

use crate::Finding;
use crate::configuration::Source;

/// What a rules folder is searched for.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Why there are no rules.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", named(path))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Without rules, nothing would be served and nothing said.
    #[error("{} holds no rules: in a file, they are documents with `kind: Injection`; of a folder, `*.yaml`, `*.yml` and `*.json` are read", named(.0))]
    Empty(PathBuf),
    /// The rules, each in order, cannot be served together.
    #[error("{0}")]
    Unusable(String),
    /// The documents are wrong; all of it, warnings among it.
    #[error("{}", listed(.0))]
    Rules(Vec<Diagnostic>),
}

/// A path in a line for people, whatever somebody called a file.
fn named(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Reads rules from a file, or from every `*.yaml`, `*.yml` and `*.json` of a folder, in the order of their names.
///
/// # Errors
/// Files that cannot be read; everything that is wrong with any of the documents.
pub fn load(path: &Path) -> Result<RuleSet, LoadError> {
    load_all(&[path])
}

/// The same of several files and folders, whose rules one injector has.
///
/// # Errors
/// Those of [`load`]; a name that two of them use is one.
pub fn load_all<P: AsRef<Path>>(paths: &[P]) -> Result<RuleSet, LoadError> {
    let (mut texts, mut seen) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let files = files(path.as_ref())?;
        if files.is_empty() {
            return Err(LoadError::Empty(path.as_ref().to_owned()));
        }
        // A folder and a file of it are two arguments that shells make of patterns. A pipe has no other name.
        let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        let new: Vec<_> = files.into_iter().filter(|file| !seen.contains(&real(file))).collect();
        seen.extend(new.iter().map(real));
        for file in new {
            let text = std::fs::read_to_string(&file).map_err(failed(&file))?;
            texts.push((file.display().to_string(), text));
        }
    }
    let rules = compile(texts.iter().map(|(name, text)| (&**name, &**text))).map_err(LoadError::Rules)?;
    match paths {
        [path, ..] if rules.rules().is_empty() => Err(LoadError::Empty(path.as_ref().to_owned())),
        _ => Ok(rules),
    }
}

/// Makes rules of `(name, text)`; the name is what diagnostics and explanations call the source.
///
/// # Errors
/// Everything that is wrong with any of the documents, at once.
pub fn compile<'s>(
    sources: impl IntoIterator<Item = (&'s str, &'s str)>,
) -> Result<RuleSet, Vec<Diagnostic>> {
    RuleSet::load(sources, keys::schema("", "v1", "Pod"))
}

/// The texts at `path`, read or not.
pub(crate) fn read(path: &Path) -> Result<Vec<Source>, LoadError> {
    let source = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("it cannot be read: {error}"));
        Source { name: file.display().to_string(), text }
    };
    Ok(files(path)?.into_iter().map(source).collect())
}

impl LoadError {
    /// Of findings about files.
    pub(crate) fn of(findings: &[Finding]) -> Self {
        let diagnostics = findings.iter().filter_map(Finding::diagnostic).cloned().collect::<Vec<_>>();
        match findings.iter().find(|finding| finding.diagnostic().is_none()) {
            Some(other) if diagnostics.is_empty() => Self::Unusable(other.headline()),
            _ => Self::Rules(diagnostics),
        }
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    if !path.metadata().map_err(failed(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(failed(path))? {
        let file = entry.map_err(failed(path))?.path();
        let extension = file.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = path.to_owned();
    move |source| LoadError::File { path, source }
}

fn listed(findings: &[Diagnostic]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
