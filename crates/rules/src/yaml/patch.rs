//! Operations on a YAML text, so that what they do not touch stays as it was written: comments, order, quotes, blank
//! lines.

mod editor;
mod tree;

use std::fmt;

use vestibule_patch::{Document, Operation, View};

use super::emit::from_json;
use super::parse::{after_mark, is_json};
use super::pretty::pretty_json;

/// A text after operations.
pub struct Patched {
    /// The text.
    pub text: String,
    /// Where a part of it could not be changed in its place: why all of it was written anew.
    pub rewritten: Option<RewriteReason>,
}

/// Why a text was written anew, and lost its comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteReason {
    /// The line of the text, where it is known.
    pub line: Option<usize>,
    /// `flow style`
    pub why: &'static str,
}

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchError(String);

/// The one document of `text` after `operations`.
///
/// What operations add is written into the text where it belongs, so that a comparison of both texts shows that and
/// nothing else. Where that cannot be done the whole document is written anew: where it would have to be in the middle
/// of flow style (`{a: b}`), with anchors, behind tabs. Either way the text reads as exactly what the operations lead to;
/// plain scalars are read as `kubectl` does.
///
/// JSON stays JSON: every value that no operation touches keeps its bytes, and a text of several lines is laid out as
/// [`pretty_json`](super::pretty_json) does.
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
        Ok(patched) if means(&patched, document.view()) => {
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

/// The text after one operation; `before` is what it means.
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

fn means(text: &str, wanted: View<'_>) -> bool {
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

    fn anchor(line: usize) -> Self {
        Self { line: Some(line), why: "an anchor" }
    }

    fn tab(line: usize) -> Self {
        Self { line: Some(line), why: "a tab" }
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
