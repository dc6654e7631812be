//! Newest texts against those that were good before.

use std::collections::HashSet;

use super::{Compile, Document, Settled, Source, errors_of};
use crate::configuration::patience::Patience;
use crate::configuration::{Finding, Snapshot};

/// The newest texts, and what was good before them.
pub(super) struct Settlement<'s, C> {
    pub(super) sources: &'s [Source],
    pub(super) good: &'s [Document],
    /// What is in force has been checked, under the settings of its time.
    pub(super) checked: HashSet<&'s str>,
    pub(super) compiler: &'s C,
    pub(super) patience: &'s Patience,
}

impl<C: Compile> Settlement<'_, C> {
    /// The settings that rules are to be read by.
    pub(super) fn settings(&self) -> Option<Document> {
        let check =
            |document: &Document| if document.is_settings() { self.check(document, None) } else { Ok(()) };
        self.settled(&check, &mut Vec::new()).into_iter().find(Document::is_settings)
    }

    /// The documents that are to be in force where rules are read by `settings`, and what is wrong with the others.
    pub(super) fn documents(&self, settings: Option<&Document>) -> (Vec<Document>, Vec<Finding>) {
        let mut errors = Vec::new();
        let check = |document: &Document| self.check(document, settings.filter(|_| !document.is_settings()));
        let documents = self.settled(&check, &mut errors);
        (documents, errors)
    }

    /// The same with the settings that were in force, where those among `newest` are others: what was good under them may not be
    /// under these, as it was `found`, and no document but these waits for it to be mended.
    pub(super) fn under_the_former(&self, newest: &[Document], found: &[Finding]) -> Option<Settled> {
        let former = || self.good.iter().filter(|document| document.is_settings());
        let changed: Vec<_> = newest.iter().filter(|document| document.is_settings()).collect();
        let same = former().map(|document| &document.text).eq(changed.iter().map(|document| &document.text));
        if self.good.is_empty() || same {
            return None;
        }
        let (mut documents, mut errors) = self.documents(former().next());
        let place = documents.iter().position(Document::is_settings).unwrap_or(documents.len());
        documents.retain(|document| !document.is_settings());
        documents.splice(place..place, former().cloned());
        let snapshot = self.compile(&documents).ok()?;
        errors.extend(found.iter().map(|finding| match changed.as_slice() {
            [settings] => settings.blamed_for(finding),
            _ => finding.clone(),
        }));
        Some(Settled { settled: Some((snapshot, documents)), errors })
    }

    fn settled(
        &self,
        check: &dyn Fn(&Document) -> Result<(), Vec<Finding>>,
        errors: &mut Vec<Finding>,
    ) -> Vec<Document> {
        let documents = self.sources.iter().flat_map(|source| {
            let former = self.good.iter().filter(|document| document.source == source.name);
            source.settle(former, check, errors)
        });
        documents.collect()
    }

    fn check(&self, document: &Document, settings: Option<&Document>) -> Result<(), Vec<Finding>> {
        match self.checked.contains(&*document.text) {
            true => Ok(()),
            false => self.compiler.check(settings.map(Document::text), document.text(), self.patience),
        }
    }

    /// The rules that these come to together, or the errors.
    pub(super) fn compile(&self, documents: &[Document]) -> Result<Snapshot, Vec<Finding>> {
        let texts: Vec<_> = documents.iter().map(Document::text).collect();
        self.compiler.compile(&texts, self.patience).map_err(errors_of)
    }
}
