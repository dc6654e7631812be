//! Checks an app before it is served or registered, and reports all problems at once.

use std::collections::BTreeSet;

use vestibule_admission::HookKind;

use super::{App, NamedConversion};
use crate::conversion::definition::Definition;
use crate::registration::name::{DNS_LABEL, is_dns_label, path_problem};

/// All problems of an [`App`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the webhook `{name}` cannot run:\n  {}", problems.join("\n  "))]
#[non_exhaustive]
pub struct AppError {
    /// The webhook's name.
    pub name: String,
    /// One sentence each: the problem, and its remedy.
    pub problems: Vec<String>,
}

impl AppError {
    /// Problems of the webhook `name`.
    pub fn new(name: &str, problems: Vec<String>) -> Self {
        Self { name: name.to_owned(), problems }
    }
}

impl App {
    /// Checks the app.
    ///
    /// ```
    /// use vestibule::App;
    ///
    /// let problems = App::new("Demo").check().unwrap_err().problems;
    /// assert!(problems[0].contains("`Demo` is no name") && problems[1].contains("no hook"));
    /// ```
    ///
    /// # Errors
    /// The app has problems; the error lists all of them.
    pub fn check(&self) -> Result<(), AppError> {
        let mut problems = self.problems.clone();
        problems.extend(self.defaults.problems());
        if !is_dns_label(&self.name) {
            problems.push(format!("`{}` is no name: {DNS_LABEL}", self.name));
        }
        if self.hooks.is_empty() && self.conversions.is_empty() {
            let ways = "`.mutate(..)`, `.validate(..)` or `.convert(..)`";
            problems.push(format!("it has no hook: add one with {ways}"));
        }
        let mut taken = BTreeSet::new();
        for entry in self.hooks.iter().map(|registered| &registered.entry) {
            let name = &entry.name;
            if !taken.insert(name.clone()) {
                problems.push(format!("hook `{name}`: the name is taken; hooks need names of their own"));
                continue;
            }
            for (what, text) in
                [("path", entry.path.clone()), ("qualified name", entry.qualified_name(&self.name))]
            {
                if !taken.insert(text.clone()) {
                    problems.push(format!("hook `{name}`: the {what} `{text}` is taken by another hook"));
                }
            }
        }
        for name in &self.hooks_with_entries {
            let hook = self.hooks.iter().map(|hook| &hook.entry).find(|hook| hook.name == *name);
            match hook.map(|hook| hook.kind) {
                Some(HookKind::Mutating) => {}
                Some(_) => {
                    problems.push(format!("hook `{name}`: only mutating hooks have entries of their own"));
                }
                None => {
                    problems
                        .push(format!("hook `{name}` has entries of its own, and is no hook of this app"));
                }
            }
        }
        let (mut names, mut definitions) = (BTreeSet::new(), BTreeSet::new());
        for NamedConversion { name, conversion } in &self.conversions {
            let mut found = conversion.described().problems();
            let path = conversion.path_or(name);
            if !taken.insert(path.clone()) {
                found.push(format!("the path `{path}` is taken"));
            }
            if is_dns_label(name) {
                found.extend(path_problem(&path));
            } else {
                found.push(format!("{DNS_LABEL}: the name becomes a path"));
            }
            if !names.insert(name) || !definitions.insert(conversion.described().name()) {
                found.push(
                    "it is there twice; conversions need names and definitions of their own".to_owned(),
                );
            }
            problems.extend(found.into_iter().map(|problem| format!("conversion `{name}`: {problem}")));
        }
        problems.extend(self.definitions_given_twice());
        if problems.is_empty() { Ok(()) } else { Err(AppError::new(&self.name, problems)) }
    }

    /// Of two definitions of one resource, the one that is applied last would remove the conversion and the versions of the other.
    fn definitions_given_twice(&self) -> Vec<String> {
        let converted = self.conversions.iter().map(|named| named.conversion.described());
        let mut printed: BTreeSet<_> =
            converted.filter(|definition| definition.is_printed()).map(Definition::name).collect();
        let names = self.definitions.iter().map(|it| it.metadata.name.as_deref().unwrap_or_default());
        let twice = names.filter(|name| !printed.insert(name));
        twice
            .map(|name| {
                format!(
                    "the definition of `{name}` is given twice: give it once, to the conversion if there is one"
                )
            })
            .collect()
    }
}
