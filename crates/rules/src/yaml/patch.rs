//! Applies JSON Patch operations to a YAML text. Everything that they do not touch keeps its spelling: comments,
//! order, quotes, blank lines.

mod editor;

use std::fmt;

use vestibule_patch::{Document, Operation, View};

use super::emit::from_json;
use super::parse::{after_mark, is_json};
use super::pretty::pretty_json;

/// The result of applying operations to a text.
pub struct Patched {
    /// The text.
    pub text: String,
    /// The reason why the whole text was written anew, if an operation could not be applied in place.
    pub rewritten: Option<RewriteReason>,
}

/// The reason why a text was written anew and lost its comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteReason {
    /// The line of the text, if it is known.
    pub line: Option<usize>,
    /// A short noun phrase such as `flow style`.
    pub why: &'static str,
}

/// The reason why the operations cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchError(String);

/// Applies `operations` to the only document of `text`.
///
/// Added values are inserted in place, so that a diff of both texts shows only them. The whole document is written
/// anew if a change would be inside flow style (`{a: b}`), next to an anchor, or behind a tab. In both cases the text
/// means exactly the result of the operations, with plain scalars resolved as in `kubectl`.
///
/// JSON stays JSON: every value that no operation touches keeps its bytes, and a text of several lines gets the
/// layout of [`pretty_json`](super::pretty_json).
///
/// # Errors
/// The text is not one document, or an operation cannot be applied to it.
///
/// ```
/// let text = "metadata: # of the pod\n  name: web\nspec: {}\n";
/// let add = r#"[{"op": "add", "path": "/metadata/labels", "value": {"team": "blue"}}]"#;
/// let operations: Vec<vestibule_patch::Operation> = serde_json::from_str(add).unwrap();
///
/// let patched = vestibule_rules::yaml::patch(text, &operations).unwrap();
/// assert_eq!(patched.text, "metadata: # of the pod\n  name: web\n  labels:\n    team: blue\nspec: {}\n");
/// ```
pub fn patch(text: &str, operations: &[Operation]) -> Result<Patched, PatchError> {
    let (mark, body) = after_mark(text.trim_start_matches('\u{feff}'));
    if is_json(body) {
        return patch_json(mark, body, operations);
    }
    let json = kubectl_json(text)?;
    let mut document = Document::parse(&json).map_err(unpatchable)?;
    let mut done = Ok(text.to_owned());
    for operation in operations {
        let before = document.clone();
        document.apply(operation).map_err(unpatchable)?;
        done = done.and_then(|text| apply_to_text(&text, operation, &before));
    }
    let rewritten = match done {
        Ok(patched) if has_value(&patched, document.view()) => {
            return Ok(Patched { text: patched, rewritten: None });
        }
        Ok(_) => RewriteReason::unusual(None),
        Err(why) => why,
    };
    let start = if text.starts_with("---") { "---\n" } else { "" };
    let yaml = from_json(&document.to_json()).map_err(unpatchable)?;
    Ok(Patched { text: format!("{start}{yaml}"), rewritten: Some(rewritten) })
}

fn patch_json(mark: &str, text: &str, operations: &[Operation]) -> Result<Patched, PatchError> {
    let mut document = Document::parse(text).map_err(unpatchable)?;
    document.apply_all(operations).map_err(unpatchable)?;
    let json = document.to_json();
    let json = if text.trim().contains('\n') { pretty_json(&json) } else { json };
    let (start, end) = (text.len() - text.trim_start().len(), text.trim_end().len());
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    Ok(Patched { text: format!("{mark}{before}{json}{after}"), rewritten: None })
}

/// Applies one operation to `text`; `before` is the value of `text`.
fn apply_to_text(text: &str, operation: &Operation, before: &Document<'_>) -> Result<String, RewriteReason> {
    let editor = editor::Editor::new(text)?;
    let value_at = |from| before.at(from).ok_or(RewriteReason::unusual(None));
    match operation {
        Operation::Test { .. } => Ok(text.to_owned()),
        Operation::Add { path, value } => editor.add(path, View::of(value)),
        Operation::Copy { from, path } => editor.add(path, value_at(from)?),
        Operation::Replace { path, value } => editor.replace(path, View::of(value)),
        Operation::Remove { path } => editor.remove(path),
        Operation::Move { from, path } => {
            let without = editor.remove(from)?;
            editor::Editor::new(&without)?.add(path, value_at(from)?)
        }
    }
}

fn has_value(text: &str, wanted: View<'_>) -> bool {
    let Ok(json) = kubectl_json(text) else { return false };
    Document::parse(&json).is_ok_and(|document| document.view().same_as(wanted))
}

fn kubectl_json(text: &str) -> Result<String, PatchError> {
    let documents = super::read("the text", text);
    match documents.as_deref() {
        Ok([document]) => Ok(document.to_kubectl_json()),
        Ok(_) => Err(PatchError("the text is not one document".to_owned())),
        Err(problems) => Err(PatchError(problems.first().map(ToString::to_string).unwrap_or_default())),
    }
}

fn unpatchable(error: impl fmt::Display) -> PatchError {
    PatchError(error.to_string())
}

impl RewriteReason {
    fn flow(line: usize) -> Self {
        Self { line: Some(line), why: "flow style" }
    }

    fn unusual(line: Option<usize>) -> Self {
        Self { line, why: "an unusual layout" }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for PatchError {}

#[cfg(test)]
mod tests;
