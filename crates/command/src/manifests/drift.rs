//! The differences between the objects in a folder and the manifests of an app.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::colour::{Palette, Style};
use crate::terminal_escape::escape;
use crate::{CommandError, diff, title, yaml};

/// The objects in the files of a folder.
pub(super) struct Folder {
    path: PathBuf,
    objects: Vec<(PathBuf, Value)>,
}

/// Everything that differs. Its text is a unified diff from the folder to what the app asks for.
pub(super) struct Drift<'o> {
    folder: &'o Path,
    differences: Vec<Difference<'o>>,
    /// The number of objects of others: they are left alone.
    foreign: usize,
}

enum Difference<'o> {
    /// File, object in it, printed object.
    Changed(&'o Path, &'o Value, &'o Value),
    /// Printed, and in no file.
    Missing(&'o Value),
    /// An object with the label of this app, which the app does not print.
    Extra(&'o Path, &'o Value),
}

impl Folder {
    /// Files in folders below count too.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let mut folder = Self { path: path.to_owned(), objects: Vec::new() };
        folder.descend(path)?;
        Ok(folder)
    }

    /// An object that only the folder has is a difference if `wanted` accepts it and it has the app's label.
    pub(super) fn compare<'o>(
        &'o self,
        printed: &'o [Value],
        app: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Drift<'o> {
        let (mut differences, mut extra, mut foreign) = (Vec::new(), Vec::new(), 0);
        let asked: BTreeMap<_, &Value> = printed.iter().map(|object| (key(object), object)).collect();
        let mut seen = BTreeSet::new();
        for (path, found) in &self.objects {
            let key = key(found);
            match asked.get(&key) {
                // Of two objects with one name the last applied one wins: the order is unknown.
                Some(_) if !seen.insert(key) => extra.push(Difference::Extra(path, found)),
                Some(printed) if *printed == found => {}
                Some(printed) => differences.push(Difference::Changed(path, found, printed)),
                // An object that an earlier version of the app printed.
                None if found["metadata"]["labels"]["app.kubernetes.io/name"] == *app && wanted(found) => {
                    extra.push(Difference::Extra(path, found));
                }
                None => foreign += 1,
            }
        }
        let missing = printed.iter().filter(|object| !seen.contains(&key(object)));
        differences.extend(missing.map(Difference::Missing));
        differences.append(&mut extra);
        Drift { folder: &self.path, differences, foreign }
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
                for document in documents(&text).map_err(|error| unreadable(&path, &error))? {
                    self.objects.extend(items(document).map(|object| (path.clone(), object)));
                }
            }
        }
        Ok(())
    }
}

/// Errors name line and column, and quote no lines: the folder may hold Secrets.
fn documents(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    serde_saphyr::from_multiple_with_options(text, options)
}

impl Drift<'_> {
    pub(super) fn is_none(&self) -> bool {
        self.differences.is_empty()
    }

    pub(super) fn text(&self, palette: Palette) -> Result<String, CommandError> {
        const NONE: &str = "/dev/null";
        let mut text = String::new();
        for difference in &self.differences {
            let (file, object, before, after) = match difference {
                Difference::Changed(path, found, printed) => {
                    (named(path), title(printed), yaml(found)?, yaml(printed)?)
                }
                Difference::Missing(printed) => {
                    (NONE.to_owned(), title(printed), String::new(), yaml(printed)?)
                }
                Difference::Extra(path, found) => (named(path), NONE.to_owned(), yaml(found)?, String::new()),
            };
            for line in [format!("--- {file}"), format!("+++ {object}")] {
                text.push_str(&palette.paint(Style::Heading, line));
                text.push('\n');
            }
            text.push_str(&diff::unified(&before, &after, palette));
        }
        Ok(text)
    }

    /// A line for each object; one alone where nothing differs.
    pub(super) fn summary(&self) -> Vec<String> {
        let folder = named(self.folder);
        let line = |difference: &Difference<'_>| match difference {
            Difference::Changed(path, found, _) => format!("{} differs: {}", title(found), named(path)),
            Difference::Missing(printed) => format!("{} is missing in {folder}", title(printed)),
            Difference::Extra(path, found) => {
                format!("{} is not of this app any more, or twice: {}", title(found), named(path))
            }
        };
        let mut lines: Vec<_> = self.differences.iter().map(line).collect();
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

/// Version, kind, namespace and name: the identity of an object.
fn key(object: &Value) -> [&str; 4] {
    ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"]
        .map(|pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default())
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
