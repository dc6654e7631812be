//! What is wrong with a configuration.

use std::fmt;

use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Diagnostic, Severity};

/// Something about the texts of a configuration that its author should know.
///
/// `Display` prints what an author reads, with the line of the source; [`Finding::headline`] is the form for logs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Finding {
    /// About a document.
    Document(Diagnostic),
    /// A source that cannot be read.
    Source {
        /// The source.
        name: String,
        /// Why not.
        problem: String,
    },
    /// About all rules together, as they would be registered or served.
    Whole(String),
}

impl Finding {
    /// Whether the text cannot be used as it is.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Document(diagnostic) if diagnostic.severity() != Severity::Error)
    }

    /// The diagnostic, where it is about a document.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Document(diagnostic) => Some(diagnostic),
            Self::Source { .. } | Self::Whole(_) => None,
        }
    }

    /// The diagnostic's code, or a word for what has none: for logs and scripts.
    pub fn code(&self) -> &str {
        match self {
            Self::Document(diagnostic) => diagnostic.code().id,
            Self::Source { .. } => "unreadable",
            Self::Whole(_) => "refused",
        }
    }

    /// One line, without the author's values.
    pub fn headline(&self) -> String {
        match self {
            Self::Document(diagnostic) => diagnostic.headline(),
            Self::Source { name, problem } => format!("{}: error: {problem}", printable(name)),
            Self::Whole(problem) => format!("error: {problem}"),
        }
    }

    /// The name of the source it is about, if it is about one.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Document(diagnostic) => Some(diagnostic.source()),
            Self::Source { name, .. } => Some(name),
            Self::Whole(_) => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document(diagnostic) => diagnostic.fmt(formatter),
            Self::Source { .. } | Self::Whole(_) => formatter.write_str(&self.headline()),
        }
    }
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Document(diagnostic)
    }
}
