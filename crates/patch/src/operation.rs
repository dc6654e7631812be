//! RFC 6902 operations as typed values.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::{Pointer, text};

mod wire;

/// One step of a JSON Patch (RFC 6902 section 4).
///
/// Values stay the bytes they were written in, so that `1.0` and integers beyond 2^53 pass through unchanged, and are shared:
/// an operation that is cloned or carried out does not copy them. There is no `Debug`: a value may be somebody's secret.
/// Print [`Operation::name`] and [`Operation::path`].
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
        /// Where the value will stand.
        path: Pointer,
        /// What will stand there.
        value: Arc<RawValue>,
    },
    /// Takes away what stands at `path`.
    Remove {
        /// What goes.
        path: Pointer,
    },
    /// Puts another value in the place of one that is there.
    Replace {
        /// What is replaced.
        path: Pointer,
        /// What will stand there.
        value: Arc<RawValue>,
    },
    /// Takes the value away at `from` and adds it at `path`.
    Move {
        /// Where the value stands.
        from: Pointer,
        /// Where it will stand.
        path: Pointer,
    },
    /// Adds at `path` what stands at `from`.
    Copy {
        /// Where the value stands.
        from: Pointer,
        /// Where its copy will stand.
        path: Pointer,
    },
    /// Holds the patch back unless the value at `path` equals `value`.
    Test {
        /// What is compared.
        path: Pointer,
        /// What must stand there.
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

    /// The value the operation carries, as JSON text.
    pub fn value(&self) -> Option<&RawValue> {
        match self {
            Self::Add { value, .. } | Self::Replace { value, .. } | Self::Test { value, .. } => Some(value),
            Self::Remove { .. } | Self::Move { .. } | Self::Copy { .. } => None,
        }
    }
}

/// The patch as JSON text (RFC 6902 section 3), values byte by byte as they are.
pub fn to_json(operations: &[Operation]) -> String {
    // The words around both are less than that.
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
            text::write_quoted(&mut json, from.as_str());
        } else {
            json.push('"');
        }
        json.push_str(",\"path\":");
        text::write_quoted(&mut json, operation.path().as_str());
        if let Some(value) = operation.value() {
            json.push_str(",\"value\":");
            json.push_str(value.get());
        }
        json.push('}');
    }
    json.push(']');
    json
}
