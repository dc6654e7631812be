//! The differences between the objects in a folder and the manifests of an app.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::colour::{Palette, Style};
use crate::terminal_escape::escape;
use crate::{CommandError, diff, yaml};

/// The objects in the files of a folder.
pub(super) struct Folder {
    path: PathBuf,
    objects: Vec<(PathBuf, Value)>,
}

/// The identity of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

/// Everything that differs. Its text is a unified diff from the folder to what the app asks for.
pub(super) struct Drift<'o> {
    folder: &'o Path,
    different: Vec<(&'o Path, &'o Value, &'o Value)>,
    missing: Vec<&'o Value>,
    /// Of this app's label, and the app knows nothing of them.
    extra: Vec<(&'o Path, &'o Value)>,
    /// Of others: they are left alone.
    foreign: usize,
}

impl Folder {
    /// Files in folders below count too.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let mut folder = Self { path: path.to_owned(), objects: Vec::new() };
        folder.descend(path)?;
        Ok(folder)
    }

    /// `wanted` says which of the objects that only the folder has are asked about, if they carry the app's label.
    pub(super) fn compare<'o>(
        &'o self,
        printed: &'o [Value],
        app: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Drift<'o> {
        let mut drift = Drift {
            folder: &self.path,
            different: Vec::new(),
            missing: Vec::new(),
            extra: Vec::new(),
            foreign: 0,
        };
        let asked: BTreeMap<Key, &Value> = printed.iter().map(|object| (Key::of(object), object)).collect();
        let mut seen = BTreeSet::new();
        for (path, found) in &self.objects {
            let key = Key::of(found);
            match asked.get(&key) {
                // Of two objects with one name the last applied one wins: the order is unknown.
                Some(_) if !seen.insert(key) => drift.extra.push((path, found)),
                Some(printed) if *printed == found => {}
                Some(printed) => drift.different.push((path, found, printed)),
                // An object that an earlier version of the app printed.
                None if found["metadata"]["labels"]["app.kubernetes.io/name"] == *app && wanted(found) => {
                    drift.extra.push((path, found));
                }
                None => drift.foreign += 1,
            }
        }
        drift.missing.extend(printed.iter().filter(|object| !seen.contains(&Key::of(object))));
        drift
    }

    fn descend(&mut self, path: &Path) -> Result<(), CommandError> {
        let unreadable = |path: &Path, why: &dyn fmt::Display| {
            CommandError::input(format_args!("cannot read {}: {}", named(path), escape(&why.to_string())))
        };
        let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(|error| unreadable(path, &error))?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.descend(&path)?;
            } else if matches!(path.extension().and_then(|end| end.to_str()), Some("yaml" | "yml" | "json")) {
                let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
                let documents = serde_saphyr::from_multiple::<Value>(&text);
                for document in documents.map_err(|error| unreadable(&path, &error))? {
                    self.objects.extend(items(document).map(|object| (path.clone(), object)));
                }
            }
        }
        Ok(())
    }
}

impl Drift<'_> {
    pub(super) fn is_none(&self) -> bool {
        self.different.is_empty() && self.missing.is_empty() && self.extra.is_empty()
    }

    pub(super) fn text(&self, palette: Palette) -> Result<String, CommandError> {
        let mut text = String::new();
        let mut file = |before: &str, after: &str, one: Option<&Value>, other: Option<&Value>| {
            let yaml = |object: Option<&Value>| object.map_or_else(|| Ok(String::new()), yaml);
            for line in [format!("--- {before}\n"), format!("+++ {after}\n")] {
                text.push_str(&palette.paint(Style::Heading, line.trim_end()));
                text.push('\n');
            }
            text.push_str(&diff::unified(&yaml(one)?, &yaml(other)?, palette));
            Ok::<_, CommandError>(())
        };
        for (path, found, printed) in &self.different {
            file(&named(path), &Key::of(printed).to_string(), Some(found), Some(printed))?;
        }
        for object in &self.missing {
            file("/dev/null", &Key::of(object).to_string(), None, Some(object))?;
        }
        for (path, found) in &self.extra {
            file(&named(path), "/dev/null", Some(found), None)?;
        }
        Ok(text)
    }

    /// A line for each object; one alone where nothing differs.
    pub(super) fn summary(&self) -> Vec<String> {
        let folder = named(self.folder);
        let mut lines = Vec::new();
        for (path, found, _) in &self.different {
            lines.push(format!("{} differs: {}", Key::of(found), named(path)));
        }
        lines.extend(self.missing.iter().map(|object| format!("{} is missing in {folder}", Key::of(object))));
        for (path, found) in &self.extra {
            lines.push(format!("{} is not of this app any more, or twice: {}", Key::of(found), named(path)));
        }
        let foreign = match self.foreign {
            0 => String::new(),
            count => format!("; {count} others there are left alone"),
        };
        lines.push(match lines.is_empty() {
            true => format!("{folder} is what the app asks for{foreign}"),
            false => {
                format!("{folder} is not what the app asks for{foreign}: print it again without --check")
            }
        });
        lines
    }
}

impl Key {
    fn of(object: &Value) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, .. } = self;
        formatter.write_str(&escape(&match namespace.is_empty() {
            true => format!("{kind} {name}"),
            false => format!("{kind} {namespace}/{name}"),
        }))
    }
}

/// A path, with its control characters escaped.
fn named(path: &Path) -> String {
    escape(&path.display().to_string())
}

/// The items of a `v1` List, else the object itself.
fn items(mut document: Value) -> impl Iterator<Item = Value> {
    let list = document["kind"] == "List";
    let items = match document.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if list => items,
        Some(other) => {
            document["items"] = other;
            vec![document]
        }
        None => vec![document],
    };
    items.into_iter()
}

#[cfg(test)]
mod tests;
