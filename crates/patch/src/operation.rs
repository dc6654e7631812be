//! RFC 6902 operations as typed values.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Pointer;

/// One step of a JSON Patch (RFC 6902 section 4).
///
/// Values stay the bytes they were written in, so that `1.0` and integers beyond 2^53 pass through unchanged. There is
/// no `Debug`: a value may be somebody's secret. Print [`Operation::name`] and [`Operation::path`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Operation {
    /// Inserts into a list, or sets a member.
    Add {
        /// Where the value will stand.
        path: Pointer,
        /// What will stand there.
        value: Box<RawValue>,
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
        value: Box<RawValue>,
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
        value: Box<RawValue>,
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
