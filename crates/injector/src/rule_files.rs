//! Reads rules from files and folders, and compiles them.

mod manifest;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use vestibule::admission::keys;
use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Diagnostic, RuleSet};

use crate::configuration::finding::Finding;
use crate::configuration::rule_source::RuleSource;
use crate::files::{first_subfolder, printable_path, yaml_files};

/// Why rules cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {}", printable_path(path), io_message(source))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file or folder holds no rules.
    #[error("{} holds no rules: in a file, they are documents with `kind: Injection`; of a folder, `*.yaml`, `*.yml` and `*.json` are read{}", printable_path(.0), subfolder_hint(.0))]
    Empty(PathBuf),
    /// Each rule is good by itself, but they cannot be served together.
    #[error("{0}")]
    Unusable(String),
    /// Documents are wrong: all findings, with warnings.
    #[error("{}", joined(.0))]
    Rules(Vec<Diagnostic>),
}

/// The operating system's message; a file that is not UTF-8 gets a longer one.
fn io_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => {
            "it is no UTF-8 text. Rules are files of YAML or JSON; a program or an archive is none".to_owned()
        }
        _ => error.to_string(),
    }
}

/// A hint that names the first subfolder, if the folder has one.
fn subfolder_hint(path: &Path) -> String {
    match first_subfolder(path) {
        Some(folder) => {
            format!("; the folders in it are not: name them, as in {}", printable_path(&folder))
        }
        None => String::new(),
    }
}

/// The path that stands for stdin.
const STDIN: &str = "-";

/// Reads rules from a file, or from every `*.yaml`, `*.yml` and `*.json` of a folder, in the order of their names; `-` is
/// stdin. A ConfigMap manifest is read for the rules in its `data`, each at its line of the manifest.
///
/// # Errors
/// A file cannot be read, or documents are wrong: the error lists all findings.
pub fn load(path: &Path) -> Result<RuleSet, LoadError> {
    load_all(&[path])
}

/// [`load`] for several files and folders, whose rules belong to one injector.
///
/// # Errors
/// See [`load`]. Two rules of one name are an error.
pub fn load_all<P: AsRef<Path>>(paths: &[P]) -> Result<RuleSet, LoadError> {
    let mut texts = Vec::new();
    for (file, text) in texts_of(paths)? {
        texts.extend(manifest::in_place(&source_name(&file), &text));
    }
    let rules = compile(texts.iter().map(|(name, text)| (&**name, &**text))).map_err(LoadError::Rules)?;
    match paths {
        [path, ..] if rules.is_empty() => Err(LoadError::Empty(path.as_ref().to_owned())),
        _ => Ok(rules),
    }
}

/// The texts as `(key, text)` for the `data` of one ConfigMap. The keys are the names of the files, and the keys in
/// ConfigMap manifests.
///
/// # Errors
/// A file cannot be read, or two texts have one key.
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

/// Each file with its text, once even if several arguments name it.
fn texts_of<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<(PathBuf, String)>, LoadError> {
    let (mut texts, mut seen) = (Vec::new(), BTreeSet::new());
    for path in paths.iter().map(AsRef::as_ref) {
        let files = if path == Path::new(STDIN) {
            vec![path.to_owned()]
        } else {
            yaml_files(path).map_err(failed(path))?
        };
        if files.is_empty() {
            return Err(LoadError::Empty(path.to_owned()));
        }
        for file in files.into_iter().filter(|file| is_new(file, &mut seen)) {
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

/// Whether `file` is none of `seen`, to which it is added. A pattern of a shell may name a folder and a file in it.
fn is_new(file: &Path, seen: &mut BTreeSet<PathBuf>) -> bool {
    seen.insert(file.canonicalize().unwrap_or_else(|_| file.to_owned()))
}

fn source_name(file: &Path) -> String {
    if file == Path::new(STDIN) { "stdin".to_owned() } else { file.display().to_string() }
}

/// Compiles rules of `(name, text)`. Diagnostics and explanations show the name.
///
/// # Errors
/// All findings in all documents.
pub fn compile<'s>(
    sources: impl IntoIterator<Item = (&'s str, &'s str)>,
) -> Result<RuleSet, Vec<Diagnostic>> {
    RuleSet::load(sources, keys::schema("", "v1", "Pod"))
}

/// The files at `paths`, each once, with its text or the reason why it cannot be read.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<RuleSource>, LoadError> {
    let (mut sources, mut seen) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let files = yaml_files(path).map_err(failed(path))?;
        for file in files.into_iter().filter(|file| is_new(file, &mut seen)) {
            let name = file.display().to_string();
            match std::fs::read_to_string(&file) {
                Ok(text) => {
                    let texts = manifest::in_place(&name, &text);
                    sources.extend(texts.into_iter().map(|(name, text)| RuleSource::new(name, text)));
                }
                Err(error) => {
                    sources.push(RuleSource { name, text: Err(format!("it cannot be read: {error}")) });
                }
            }
        }
    }
    Ok(sources)
}

impl LoadError {
    /// The error for findings about files.
    pub(crate) fn of(findings: &[Finding]) -> Self {
        let diagnostics = findings.iter().filter_map(Finding::diagnostic).cloned().collect::<Vec<_>>();
        match findings.iter().find(|finding| finding.diagnostic().is_none()) {
            Some(other) if diagnostics.is_empty() => Self::Unusable(other.headline()),
            _ => Self::Rules(diagnostics),
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = path.to_owned();
    move |source| LoadError::File { path, source }
}

fn joined(findings: &[Diagnostic]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
