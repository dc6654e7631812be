//! The operation of a request.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The operation of a request, with kube-apiserver's names. An UPDATE may be a PUT, a PATCH or a server-side apply.
///
/// ```
/// use vestibule_admission::Operation::{Connect, Create};
///
/// assert_eq!(format!("{Create} and {Connect}"), "CREATE and CONNECT");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is changed.
    Update,
    /// The object is deleted; the review has the old object only.
    Delete,
    /// A stream to a pod or a proxy is opened. The object is its options, without metadata. A mutating hook may change them, and
    /// the API server connects with the result.
    Connect,
}

impl Operation {
    /// The name in reviews and rules, such as `CREATE`.
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
