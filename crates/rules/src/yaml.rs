//! YAML and JSON documents as trees in which every value has its location.
//!
//! A scalar keeps its text, because only the reader knows whether `1.10` is a number or the value of an environment
//! variable. This module does not know rules; the command line also reads pods with it.

mod emit;
mod line;
mod node;
mod parse;
mod patch;
mod pretty;
mod quote;
mod scalar;
mod split;

use std::sync::Arc;

pub use crate::diagnostic::Position;
use crate::diagnostic::{Code, Diagnostic, Source};
pub use emit::from_json;
pub(crate) use line::{line_break, line_end, line_start, starts_line};
pub use node::{Entry, Node, Scalar, Value};
use parse::Documents;
pub(crate) use parse::first_document;
pub use patch::{PatchError, Patched, RewriteReason, patch};
pub use pretty::pretty_json;
pub(crate) use quote::{quote, write_items, write_quoted};

/// The maximum nesting of lists and maps.
pub const MAX_DEPTH: usize = 128;

/// The maximum number of values in one source, including copies for anchors and aliases. Every 100 bytes of a text
/// count as one more value.
const MAX_NODES: usize = 1_000_000;

/// The maximum number of copies among them, because aliases let a short text use much memory.
const MAX_COPIES: usize = 100_000;

/// Reads every document of `text`, except empty ones. `name` is the source in diagnostics.
///
/// Duplicate keys, tags, keys that are not text, and aliases that need more than 100,000 copies are errors.
///
/// # Errors
/// All errors of all documents.
///
/// ```
/// let documents = vestibule_rules::yaml::read("pod.yaml", "kind: Pod\nspec: {hostNetwork: true}\n").unwrap();
/// assert_eq!(documents[0].to_json(), r#"{"kind":"Pod","spec":{"hostNetwork":true}}"#);
///
/// let problems = vestibule_rules::yaml::read("pod.yaml", "kind: Pod\nkind: Job\n").err().unwrap();
/// assert_eq!(problems[0].headline(), "pod.yaml:2:1: error[VST0102]: `kind` appears twice; first at 1:1");
/// ```
pub fn read(name: &str, text: &str) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let (documents, problems) = read_all((name, text).into());
    if problems.is_empty() { Ok(documents) } else { Err(problems) }
}

/// The documents that could be read, and the errors of all documents.
pub(crate) fn read_all(text: Text<'_>) -> (Vec<Document>, Vec<Diagnostic>) {
    let Documents { read, mut problems, .. } = parse::documents(text);
    if let Some(first) = problems.first_mut()
        && first.line().contains("{{")
    {
        *first = first.clone().with_help("is it a template? render it first, for example by `helm template`");
    }
    (read, problems)
}

/// A text to read and its origin. `(name, text)` converts into it.
#[derive(Clone, Copy)]
pub struct Text<'t> {
    /// The name of the source in diagnostics.
    pub name: &'t str,
    /// The text itself.
    pub text: &'t str,
    /// The number of lines of the source before the text.
    pub lines_before: usize,
}

impl<'t> From<(&'t str, &'t str)> for Text<'t> {
    fn from((name, text): (&'t str, &'t str)) -> Self {
        Self { name, text, lines_before: 0 }
    }
}

impl<'s> From<&'s Source> for Text<'s> {
    fn from(Source { name, text, lines_before }: &'s Source) -> Self {
        Self { name, text, lines_before: *lines_before }
    }
}

impl From<Text<'_>> for Source {
    fn from(Text { name, text, lines_before }: Text<'_>) -> Self {
        Self { name: name.into(), text: text.to_owned(), lines_before }
    }
}

/// One document of a source, as a text of its own.
pub struct SplitDocument<'t> {
    /// Its `kind`, if it can be read.
    pub kind: Option<String>,
    /// Its `metadata.name`, if it can be read.
    pub name: Option<String>,
    /// The text of the document. Diagnostics about it have the line numbers of the whole source.
    pub text: Text<'t>,
}

/// Splits a source into its documents, without empty ones. A document with errors does not affect the others.
///
/// ```
/// let text = "kind: A\nmetadata: {name: one}\n---\nkind: B\nmetadata: {name: two}\nspec: [\n";
/// let parts = vestibule_rules::yaml::split("rules.yaml", text);
/// assert_eq!(parts[1].kind.as_deref(), Some("B"));
/// assert_eq!(parts[1].name.as_deref(), Some("two"));
/// assert_eq!(parts[1].text.lines_before, 2);
/// ```
pub fn split<'t>(name: &'t str, text: &'t str) -> Vec<SplitDocument<'t>> {
    let document = |text: Text<'t>| {
        let Documents { read, partial, .. } = parse::documents(text);
        let root = read.into_iter().next().map(|document| document.root).or(partial);
        let word = |path: &[&str]| Some(root.as_ref()?.find(path)?.as_text()?.to_owned());
        SplitDocument { kind: word(&["kind"]), name: word(&["metadata", "name"]), text }
    };
    split::split((name, text).into()).into_iter().map(document).collect()
}

/// One document. It may contain secrets, so it has no `Debug`.
pub struct Document {
    root: Node,
    source: Arc<Source>,
    json: Option<Box<str>>,
}

impl Document {
    /// The outermost value.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The name of its source.
    pub fn source(&self) -> &str {
        &self.source.name
    }

    /// The document as JSON. Plain scalars are resolved by YAML's core schema, and `0644` is octal as in `kubectl`.
    pub fn to_json(&self) -> String {
        self.root.to_json()
    }

    /// The document as JSON, as `kubectl` would send it: see [`Node::to_kubectl_json`].
    pub fn to_kubectl_json(&self) -> String {
        self.root.to_kubectl_json()
    }

    /// The unchanged text of a document that is JSON; `None` for YAML.
    ///
    /// ```
    /// let documents = vestibule_rules::yaml::read("pod.json", "{\"a\": \"\\u00e9\"}\n").unwrap();
    /// assert_eq!(documents[0].as_json(), Some("{\"a\": \"\\u00e9\"}"));
    /// assert_eq!(documents[0].to_json(), "{\"a\":\"é\"}");
    /// ```
    pub fn as_json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// An error about this document that the caller has found.
    pub fn diagnostic(&self, code: &'static Code, at: Position, message: impl Into<String>) -> Diagnostic {
        self.source.finding(code, at, message)
    }

    pub(crate) fn source_text(&self) -> &Arc<Source> {
        &self.source
    }
}

#[cfg(test)]
mod tests;
