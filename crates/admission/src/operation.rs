//! What the caller wants to do to the object.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The operation of a request, in kube-apiserver's words. An UPDATE may have been a PUT, a PATCH or a server-side apply.
///
/// ```
/// use vestibule_admission::Operation::{Connect, Create};
///
/// assert_eq!(format!("{Create} and {Connect}"), "CREATE and CONNECT");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is new.
    Create,
    /// The object is there and changes.
    Update,
    /// The object goes; only the old one is sent.
    Delete,
    /// A stream into a pod or a proxy; the object holds the options, without metadata. A mutating hook may change them, and
    /// the API server connects with the result.
    Connect,
}

impl Operation {
    /// As it is written in reviews and rules: `CREATE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
