//! Rules from files.

mod manifest;

use std::collections::{BTreeMap, BTreeSet};
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
    #[error("cannot read {}: {}", named(path), words(source))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Without rules, nothing would be served and nothing said.
    #[error("{} holds no rules: in a file, they are documents with `kind: Injection`; of a folder, `*.yaml`, `*.yml` and `*.json` are read{}", named(.0), below(.0))]
    Empty(PathBuf),
    /// The rules, each in order, cannot be served together.
    #[error("{0}")]
    Unusable(String),
    /// The documents are wrong; all of it, warnings among it.
    #[error("{}", listed(.0))]
    Rules(Vec<Diagnostic>),
}

/// The operating system's message; a file that is not UTF-8 gets a longer one.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => {
            "it is no UTF-8 text. Rules are files of YAML or JSON; a program or an archive is none".to_owned()
        }
        _ => error.to_string(),
    }
}

/// A hint that names the first subfolder, if the folder has one.
fn below(path: &Path) -> String {
    let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    match entries.filter(|entry| entry.is_dir()).min() {
        Some(folder) => format!("; the folders in it are not: name them, as in {}", named(&folder)),
        None => String::new(),
    }
}

/// A path in a line for people, whatever somebody called a file.
fn named(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// The path that stands for stdin.
const STDIN: &str = "-";

/// Reads rules from a file, or from every `*.yaml`, `*.yml` and `*.json` of a folder, in the order of their names; `-` is
/// stdin. A ConfigMap manifest is read for the rules in its `data`, each at its line of the manifest.
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
    let mut texts = Vec::new();
    for (file, text) in texts_of(paths)? {
        texts.extend(manifest::in_place(&called(&file), &text));
    }
    let rules = compile(texts.iter().map(|(name, text)| (&**name, &**text))).map_err(LoadError::Rules)?;
    match paths {
        [path, ..] if rules.rules().is_empty() => Err(LoadError::Empty(path.as_ref().to_owned())),
        _ => Ok(rules),
    }
}

/// The same texts as `(key, text)`, for the `data` of one ConfigMap: by the names of the files, and by the keys of
/// ConfigMap manifests among them.
///
/// # Errors
/// Files that cannot be read, and two texts with one key.
pub fn config_map_data<P: AsRef<Path>>(paths: &[P]) -> Result<BTreeMap<String, String>, LoadError> {
    let mut data = BTreeMap::new();
    for (file, text) in texts_of(paths)? {
        let name = match file.to_str() {
            Some(STDIN) => "stdin.yaml".to_owned(),
            _ => file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        };
        for (key, text) in manifest::data(&name, &text) {
            if data.insert(key.clone(), text).is_some() {
                return Err(LoadError::Unusable(format!(
                    "two texts of rules are called {}, and a ConfigMap has one key of a name: rename one of them",
                    printable(&key)
                )));
            }
        }
    }
    Ok(data)
}

/// Each file once, with its text.
fn texts_of<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<(PathBuf, String)>, LoadError> {
    let (mut texts, mut seen) = (Vec::new(), BTreeSet::new());
    for path in paths.iter().map(AsRef::as_ref) {
        let files = if path == STDIN { vec![path.to_owned()] } else { files(path)? };
        if files.is_empty() {
            return Err(LoadError::Empty(path.to_owned()));
        }
        // A folder and a file of it are two arguments that shells make of patterns. A pipe has no other name.
        let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        let new: Vec<_> = files.into_iter().filter(|file| !seen.contains(&real(file))).collect();
        seen.extend(new.iter().map(real));
        for file in new {
            let text = if file == Path::new(STDIN) {
                io::read_to_string(io::stdin())
            } else {
                std::fs::read_to_string(&file)
            };
            let text = text.map_err(failed(&file))?;
            texts.push((file, text));
        }
    }
    Ok(texts)
}

fn called(file: &Path) -> String {
    if file == Path::new(STDIN) { "stdin".to_owned() } else { file.display().to_string() }
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

/// The texts at `paths`, read or not.
pub(crate) fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Source>, LoadError> {
    let mut sources = Vec::new();
    for path in paths {
        for file in files(path.as_ref())? {
            let name = file.display().to_string();
            match std::fs::read_to_string(&file) {
                Ok(text) => {
                    let texts = manifest::in_place(&name, &text);
                    sources.extend(texts.into_iter().map(|(name, text)| Source::new(name, text)));
                }
                Err(error) => sources.push(Source { name, text: Err(format!("it cannot be read: {error}")) }),
            }
        }
    }
    Ok(sources)
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
