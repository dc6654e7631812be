//! Which documents are in force: of each the newest that is good.

mod settlement;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use vestibule_rules::yaml::{self, Node, Text};

use self::settlement::Settlement;
use super::patience::Patience;
use super::{Finding, Snapshot};

/// A text that holds documents, as it is now; why not, where it cannot be read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: Result<String, String>,
}

/// A good document, and where it came from. It may hold secrets, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Document {
    source: String,
    /// Its kind and name, by which it is known again.
    #[serde(rename = "document")]
    key: Option<String>,
    /// How many lines of the source stand before it.
    #[serde(rename = "linesBefore")]
    lines_before: usize,
    text: String,
}

/// What the newest texts come to.
pub(crate) struct Settled {
    /// What is to be in force, and the documents it is made of; nothing where documents contradict each other.
    pub(crate) settled: Option<(Snapshot, Vec<Document>)>,
    /// The errors.
    pub(crate) errors: Vec<Finding>,
}

/// Makes rules of texts, as they are needed here: proved, as long as patience lasts.
pub(crate) trait Compile {
    /// Whether a document is good by itself, under `settings` where they are another one.
    fn check(
        &self,
        settings: Option<Text<'_>>,
        text: Text<'_>,
        patience: &Patience,
    ) -> Result<(), Vec<Finding>>;
    /// All documents together.
    fn compile(&self, texts: &[Text<'_>], patience: &Patience) -> Result<Snapshot, Vec<Finding>>;
}

/// Takes every document that is good, and in the place of a broken one what was `good` of it before. Whatever is gone from
/// `sources` is gone; settings that contradict what stays as it was come into force when that is mended.
pub(crate) fn settle(
    sources: &[Source],
    good: &[Document],
    compiler: &impl Compile,
    patience: &Patience,
) -> Settled {
    let whole: Option<Vec<Text<'_>>> = sources.iter().map(Source::whole).collect();
    let together = whole.map(|texts| compiler.compile(&texts, patience));
    let together = match together {
        Some(Ok(snapshot)) => {
            let documents = sources.iter().flat_map(Source::documents).collect();
            return Settled { settled: Some((snapshot, documents)), errors: Vec::new() };
        }
        Some(Err(findings)) => findings,
        None => Vec::new(),
    };
    let checked = good.iter().map(|document| &*document.text).collect();
    let settlement = Settlement { sources, good, checked, compiler, patience };
    // Rules are read by the settings, so these come first.
    let settings = settlement.settings();
    let (documents, mut errors) = settlement.documents(settings.as_ref());
    let together = errors_of(together);
    let apart = if errors.is_empty() {
        // Each by itself is good.
        Err(together)
    } else {
        if patience.is_over() {
            // One that was found among all, and for which there was no time by itself.
            let told: HashSet<_> = errors.iter().map(Finding::headline).collect();
            errors.extend(together.into_iter().filter(|finding| !told.contains(&finding.headline())));
        }
        settlement.compile(&documents)
    };
    match apart {
        Ok(snapshot) => Settled { settled: Some((snapshot, documents)), errors },
        Err(found) => settlement.under_the_former(&documents, &found).unwrap_or_else(|| {
            errors.extend(found);
            Settled { settled: None, errors }
        }),
    }
}

/// What is wrong, without what is merely noticed.
fn errors_of(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(Finding::is_error).collect()
}

impl Source {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: Ok(text.into()) }
    }

    fn whole(&self) -> Option<Text<'_>> {
        let text = self.text.as_ref().ok()?;
        Some(Text::from((&*self.name, &**text)))
    }

    pub(crate) fn documents(&self) -> Vec<Document> {
        let Ok(text) = &self.text else { return Vec::new() };
        let document = |part: yaml::SplitDocument<'_>| Document {
            source: self.name.clone(),
            key: part.kind.zip(part.name).map(|(kind, name)| format!("{kind}/{name}")),
            lines_before: part.text.lines_before,
            text: part.text.text.to_owned(),
        };
        yaml::split(&self.name, text).into_iter().map(document).collect()
    }

    /// The documents of this source that are to be in force; what is wrong with the others goes to `errors`.
    fn settle<'g>(
        &self,
        former: impl Iterator<Item = &'g Document> + Clone,
        check: impl Fn(&Document) -> Result<(), Vec<Finding>>,
        errors: &mut Vec<Finding>,
    ) -> Vec<Document> {
        if let Err(problem) = &self.text {
            errors.push(Finding::Source { name: self.name.clone(), problem: problem.clone() });
            return former.cloned().collect();
        }
        let mut documents = Vec::new();
        let mut broken = Vec::new();
        for document in self.documents() {
            match check(&document) {
                Ok(()) => documents.push(document),
                Err(findings) => {
                    errors.extend(errors_of(findings));
                    broken.push(document.key);
                }
            }
        }
        // One that cannot be told by its name may be any of those that are missed.
        let nameless = broken.contains(&None);
        let missed = |former: &&Document| {
            let known = documents.iter().any(|document| document.key == former.key);
            !known && (nameless || broken.contains(&former.key))
        };
        let missed: Vec<_> = former.filter(missed).cloned().collect();
        documents.extend(missed);
        documents
    }
}

impl Document {
    #[cfg(test)]
    pub(crate) fn of(text: String) -> Self {
        Self { source: "test".to_owned(), key: None, lines_before: 0, text }
    }

    /// Its kind and name, as far as they can be read.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    fn is_settings(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.starts_with("InjectorSettings/"))
    }

    /// What is wrong with something else because of these settings, told at their place.
    fn blamed_for(&self, finding: &Finding) -> Finding {
        const STAY: &str = "the settings before these stay in force; under these,";
        let Finding::Document(wrong) = finding else {
            return Finding::Whole(format!("{STAY} {}", finding.headline()));
        };
        // The lines are those of the whole source.
        let text = "\n".repeat(self.lines_before) + &self.text;
        let message = format!("{STAY} {}:{} is wrong: {}", wrong.source(), wrong.position(), wrong.message());
        let blamed = yaml::read(&self.source, &text).ok().and_then(|read| {
            let document = read.first()?;
            let at = document.root().get("spec").map_or(document.root().at(), Node::at);
            Some(document.diagnostic(wrong.code(), at, message))
        });
        blamed.map_or_else(|| finding.clone(), |told| told.with_help("mend either of the two").into())
    }

    pub(crate) fn text(&self) -> Text<'_> {
        Text { name: &self.source, text: &self.text, lines_before: self.lines_before }
    }
}
