//! One text with rules, from a file, a ConfigMap or an object, and the documents in it.

use serde::{Deserialize, Serialize};
use vestibule_rules::CustomResource;
use vestibule_rules::yaml::{self, Node, Text};

use super::finding::Finding;

/// A file or a key of a ConfigMap, which holds documents.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RuleSource {
    pub(crate) name: String,
    /// The text, or the reason why it cannot be read.
    pub(crate) text: Result<String, String>,
}

/// One document of a source. It may hold secrets, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleDocument {
    pub(super) source: String,
    /// Kind and name, if both can be read, which identify the document from one version to the next.
    #[serde(rename = "document")]
    pub(crate) key: Option<String>,
    /// The number of lines of the source before the document.
    #[serde(rename = "linesBefore")]
    lines_before: usize,
    pub(super) text: String,
}

impl RuleSource {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: Ok(text.into()) }
    }

    /// The text with all its documents.
    pub(super) fn text(&self) -> Option<Text<'_>> {
        let text = self.text.as_ref().ok()?;
        Some(Text::from((&*self.name, &**text)))
    }

    /// Whether it is the object of a rule of a namespace.
    pub(crate) fn is_namespaced(&self) -> bool {
        CustomResource::NamespacedInjection.is_kind_of(&self.name)
    }

    pub(crate) fn documents(&self) -> Vec<RuleDocument> {
        let Ok(text) = &self.text else { return Vec::new() };
        let document = |part: yaml::SplitDocument<'_>| RuleDocument {
            source: self.name.clone(),
            key: part.kind.zip(part.name).map(|(kind, name)| format!("{kind}/{name}")),
            lines_before: part.text.lines_before,
            text: part.text.text.to_owned(),
        };
        yaml::split(&self.name, text).into_iter().map(document).collect()
    }
}

impl RuleDocument {
    #[cfg(test)]
    pub(crate) fn of(text: String) -> Self {
        Self { source: "test".to_owned(), key: None, lines_before: 0, text }
    }

    /// The same document, as if it had been read from `source` at the place of its newest version. Without one of its name the
    /// place stays.
    pub(super) fn in_place_of(&self, source: &str, newest: &[Self]) -> Self {
        let lines_before = match newest.iter().find(|document| document.key == self.key) {
            // The first document of a source has no `---`.
            Some(version) => {
                (version.lines_before + version.heading_lines()).saturating_sub(self.heading_lines())
            }
            None => self.lines_before,
        };
        Self { source: source.to_owned(), lines_before, ..self.clone() }
    }

    /// The number of lines before its first member: its `---`, comments and empty lines.
    fn heading_lines(&self) -> usize {
        let is_content =
            |line: &&str| !line.trim().is_empty() && !line.starts_with('#') && line.trim() != "---";
        self.text.lines().take_while(|line| !is_content(line)).count()
    }

    pub(super) fn is_settings(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.starts_with("InjectorSettings/"))
    }

    /// A finding about another document that is wrong because of these settings, as a finding at the place of the settings.
    pub(super) fn blamed_for(&self, finding: &Finding) -> Finding {
        const PREFIX: &str = "the settings before these stay in force; under these,";
        let Finding::Document(wrong) = finding else {
            return Finding::RuleSet(format!("{PREFIX} {}", finding.headline()));
        };
        // Line numbers are those of the whole source.
        let text = "\n".repeat(self.lines_before) + &self.text;
        let message =
            format!("{PREFIX} {}:{} is wrong: {}", wrong.source(), wrong.position(), wrong.message());
        let blamed = yaml::read(&self.source, &text).ok().and_then(|read| {
            let document = read.first()?;
            let at = document.root().get("spec").map_or(document.root().at(), Node::at);
            Some(document.diagnostic(wrong.code(), at, message))
        });
        blamed.map_or_else(
            || finding.clone(),
            |diagnostic| diagnostic.with_help("mend either of the two").into(),
        )
    }

    pub(crate) fn text(&self) -> Text<'_> {
        Text { name: &self.source, text: &self.text, lines_before: self.lines_before }
    }
}
