//! RFC 6902 operations as typed values.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::{Pointer, text};

mod wire;

/// One step of a JSON Patch (RFC 6902 section 4).
///
/// Values keep their bytes, so that `1.0` and integers beyond 2^53 pass unchanged, and are shared: cloning or applying an
/// operation does not copy them. There is no `Debug`, since a value may be a secret; print [`Operation::name`] and
/// [`Operation::path`].
///
/// ```
/// use vestibule_patch::{Operation, to_json};
///
/// let text = r#"[{"op":"add","path":"/size","value":1.0},{"op":"remove","path":"/owner"}]"#;
/// let operations: Vec<Operation> = serde_json::from_str(text)?;
/// assert_eq!(operations[0].path().as_str(), "/size");
/// assert_eq!(to_json(&operations), text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub enum Operation {
    /// Inserts into a list, or sets a member.
    Add {
        /// The path of the value.
        path: Pointer,
        /// The value.
        value: Arc<RawValue>,
    },
    /// Removes the value at `path`.
    Remove {
        /// The path of the value.
        path: Pointer,
    },
    /// Replaces an existing value.
    Replace {
        /// The path of the value.
        path: Pointer,
        /// The new value.
        value: Arc<RawValue>,
    },
    /// Removes the value at `from` and adds it at `path`.
    Move {
        /// The old path.
        from: Pointer,
        /// The new path.
        path: Pointer,
    },
    /// Adds a copy of the value at `from` at `path`.
    Copy {
        /// The path of the value.
        from: Pointer,
        /// The path of the copy.
        path: Pointer,
    },
    /// Fails the patch unless the value at `path` equals `value`.
    Test {
        /// The path of the compared value.
        path: Pointer,
        /// The expected value.
        value: Arc<RawValue>,
    },
}

impl Operation {
    /// The operation's `op` member.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::Move { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Test { .. } => "test",
        }
    }

    /// The operation's target.
    pub fn path(&self) -> &Pointer {
        match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Move { path, .. }
            | Self::Copy { path, .. }
            | Self::Test { path, .. } => path,
        }
    }

    /// The operation's value, as JSON text.
    pub fn value(&self) -> Option<&RawValue> {
        match self {
            Self::Add { value, .. } | Self::Replace { value, .. } | Self::Test { value, .. } => Some(value),
            Self::Remove { .. } | Self::Move { .. } | Self::Copy { .. } => None,
        }
    }
}

/// The patch as JSON text (RFC 6902 section 3), with the bytes of its values.
pub fn to_json(operations: &[Operation]) -> String {
    // An upper limit of the bytes of names, brackets and quotes.
    const WORDS: usize = 48;
    let long = |operation: &Operation| {
        WORDS + operation.path().as_str().len() + operation.value().map_or(0, |value| value.get().len())
    };
    let mut json = String::with_capacity(2 + operations.iter().map(long).sum::<usize>());
    json.push('[');
    for (index, operation) in operations.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str("{\"op\":\"");
        json.push_str(operation.name());
        if let Operation::Move { from, .. } | Operation::Copy { from, .. } = operation {
            json.push_str("\",\"from\":");
            text::quote(from.as_str(), |part| json.push_str(part));
        } else {
            json.push('"');
        }
        json.push_str(",\"path\":");
        text::quote(operation.path().as_str(), |part| json.push_str(part));
        if let Some(value) = operation.value() {
            json.push_str(",\"value\":");
            json.push_str(value.get());
        }
        json.push('}');
    }
    json.push(']');
    json
}
