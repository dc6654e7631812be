//! Errors, warnings and hints about a configuration.

use std::fmt;

use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Diagnostic, Severity};

/// An error, a warning or a hint for the author of rules.
///
/// `Display` prints the form for authors, with the line of the source; [`Finding::headline`] is the form for logs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Finding {
    /// About a document.
    Document(Diagnostic),
    /// About a source that cannot be read.
    Source {
        /// The source.
        name: String,
        /// The reason.
        problem: String,
    },
    /// About all rules together, as they would be registered or served.
    RuleSet(String),
}

impl Finding {
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Document(diagnostic) if diagnostic.severity() != Severity::Error)
    }

    /// The diagnostic, if it is about a document.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Document(diagnostic) => Some(diagnostic),
            Self::Source { .. } | Self::RuleSet(_) => None,
        }
    }

    /// The diagnostic's code, else `unreadable` or `refused`: for logs and scripts.
    pub fn code(&self) -> &str {
        match self {
            Self::Document(diagnostic) => diagnostic.code().id,
            Self::Source { .. } => "unreadable",
            Self::RuleSet(_) => "refused",
        }
    }

    /// One line, without the author's values.
    pub fn headline(&self) -> String {
        match self {
            Self::Document(diagnostic) => diagnostic.headline(),
            Self::Source { name, problem } => format!("{}: error: {problem}", printable(name)),
            Self::RuleSet(problem) => format!("error: {problem}"),
        }
    }

    /// The name of the source it is about, if it is about one.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Document(diagnostic) => Some(diagnostic.source()),
            Self::Source { name, .. } => Some(name),
            Self::RuleSet(_) => None,
        }
    }
}

/// The first `max` texts in one line, and how many more there are.
pub(crate) fn first_texts(texts: impl ExactSizeIterator<Item = String>, max: usize) -> String {
    let more = texts.len().saturating_sub(max);
    let more = (more > 0).then(|| format!("and {more} more"));
    texts.take(max).chain(more).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document(diagnostic) => diagnostic.fmt(formatter),
            Self::Source { .. } | Self::RuleSet(_) => formatter.write_str(&self.headline()),
        }
    }
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Document(diagnostic)
    }
}
